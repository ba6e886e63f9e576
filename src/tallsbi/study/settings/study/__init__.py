"""The settings of every job, built from the resolved configuration; `whole` is the way in."""
