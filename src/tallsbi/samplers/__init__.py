"""Samplers, which take a tall score from noise to draws, one file each."""
