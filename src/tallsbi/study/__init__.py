"""The study around the algorithms: its configuration, its grids of cells and its outputs."""
