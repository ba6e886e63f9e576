"""Compositions of n single-observation scores into one score of the tall posterior, one file each."""
