"""The settings of every job, built from the resolved configuration; `study` is the way in."""
