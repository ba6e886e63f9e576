"""The report page of a run, the gallery in docs/ and the picture of the workflow: what a reader looks at."""
