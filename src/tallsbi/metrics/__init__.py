"""Distances between samples."""
