"""Typed settings: a frozen, validated dataclass for each stage, built from the configuration in `study.py` alone."""
