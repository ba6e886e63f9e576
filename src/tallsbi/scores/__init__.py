"""Scores of single-observation posteriors: analytic, perturbed and (later) learned."""

from tallsbi.scores.base import BoundScore, Score
from tallsbi.scores.gaussian import GaussianScore
from tallsbi.scores.mixture import MixtureScore
from tallsbi.scores.perturbed import Perturbation, PerturbedScore

__all__ = ["BoundScore", "GaussianScore", "MixtureScore", "Perturbation", "PerturbedScore", "Score"]
