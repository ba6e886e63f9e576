"""Compositions: n single-observation scores into one score of the tall posterior."""

from tallsbi.compose.base import TallScore
from tallsbi.compose.fnpse import FactorisedScore

__all__ = ["FactorisedScore", "TallScore"]
