"""Distances between samples, calibration, and tests of draws."""
