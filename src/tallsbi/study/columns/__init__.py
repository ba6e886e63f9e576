"""The columns of the tidy CSV files: what the stages write and the claims, tables and figures read.

Each collected file is a `TidyTable` in the module of its part: `toy`, `sbibm`, `jrnmm`, or `run` for what concerns the
run as a whole. A writer builds its rows with the table, a reader reads the file through `catalogue`; both raise an
error for a column that the table does not name, and for one that is missing. The parts are modules of their own so that
a new column of one part reruns nothing of another.
"""
