"""Typed settings: a frozen, validated dataclass for each stage, built from the configuration in `study.parts` alone."""
