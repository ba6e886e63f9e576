"""Settings of small jobs."""

from __future__ import annotations

from tallsbi.study.settings.measure import MeasureSettings
from tallsbi.study.settings.problem import ProblemSettings
from tallsbi.study.settings.sample import Methods
from tallsbi.study.settings.sized_sample import SizedSampleSettings
from tallsbi.study.settings.toy import ToyCell, ToyModel

MODEL = ToyModel(0.8, 10.0, (0.1, 25.1), (2.25, 1 / 9), (0.6, 1.4))
BOUNDS = {"C": (10, 250), "mu": (50, 500), "sigma": (100, 5000), "g": (-20, 20)}
TRUTH = {"C": 135, "mu": 220, "sigma": 2000, "g": 0}


def methods(switch_over=0.5, **options):
    """Methods by name with their own settings, and what all share."""
    return Methods(options, {"50": 0.2}, 0.5, 3.0, switch_over)


def toy_cell(problem, m=3, seeds=2):
    return ToyCell(MODEL, problem, m, seeds)


def sampling(name, **changes):
    """Settings of a sampling job; the methods are those of `methods`."""
    given = {
        "seed": 3,
        "device": "cpu",
        "dtype": "float32",
        "problem": ProblemSettings(name),
        "n_train": 300,
        "names": (),
        "methods": methods(),
        "kind": "sets",
        "samples": 40,
        "n_obs": (1, 4),
        "bounds_factor": 2.0,
    }
    return SizedSampleSettings(**{**given, **changes})


def silent(items, label=None):
    """The progress of a job that shows nothing."""
    return items


def measuring(*n_obs, n_train=200):
    return MeasureSettings(3, 20, "batched", 15, n_train, n_obs, ())
