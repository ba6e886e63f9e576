"""Made-up results that look like the study's: what the figures are tested with."""

from itertools import product

import numpy as np
import pandas as pd

from tallsbi.study.settings.artifacts import Pedagogical, ToyFigures

SETTINGS = ToyFigures(prior="wide", metric="max_sw_norm", dim=10)
PEDAGOGICAL = Pedagogical(theta=(1.0, -1.0))
STEPS = {"GAUSS": 1000, "JAC": 400, "LANGEVIN": 400, "DET_GEF": 1000}
NOISE = (0.0, 0.001, 0.01, 0.1)
N_OBS = (2, 4, 8, 16, 32, 64, 90)
DIMS = (2, 10, 32)


def error(method, problem, m, noise, n):
    """The order of magnitude of a method's error: a base, and what noise in the score adds as n grows."""
    base = {"GAUSS": 0.01, "JAC": 0.02, "LANGEVIN": 0.04, "DET_GEF": 0.15}.get(
        method.removesuffix("-clip"), 0.1
    )
    push = {"GAUSS": 0.4, "JAC": 3.0, "LANGEVIN": 0.8, "DET_GEF": 2.0}.get(method.removesuffix("-clip"), 1.0)
    if method == "LANGEVIN" and problem == "gaussian-wide":
        base = 3.5 / np.sqrt(n)
    if problem == "mixture":
        base *= 1 + n / 20
    return base + push * noise * n**0.7 * np.sqrt(m / 10)


def metrics(methods=STEPS, noise=NOISE, n_obs=N_OBS, dims=DIMS, seeds=5):
    """The distances; JAC and DET_GEF diverge where the noise is large and n is too."""
    rng = np.random.default_rng(0)
    problems = [(p, m) for p in ("gaussian-wide", "gaussian-standard") for m in dims] + [("mixture", 10)]
    rows = []
    for (problem, m), eps, n, seed, (method, steps) in product(
        problems, noise, n_obs, range(seeds), methods.items()
    ):
        lost = (method == "JAC" and eps * n > 3 and seed < 2) or (method == "DET_GEF" and eps * n >= 0.64)
        value = (
            np.nan
            if lost
            else error(method, problem, m, eps, n) * (1 + 0.3 * rng.normal()) + 0.01 * rng.normal()
        )
        row = {
            "problem": problem,
            "m": m,
            "noise": eps,
            "n": n,
            "seed": seed,
            "method": method,
            "steps": steps,
            "samples": 1000,
        }
        row |= {"max_sw_norm": value, "sw_norm": 0.5 * value, "lost_share": 0.7 if lost else 0.0}
        row |= {"reference_passed": True}
        rows.append(row)
    return pd.DataFrame(rows)


def pedagogical(n_obs=(1, 4, 16, 64), samples=1000, theta=(1.0, -1.0)):
    """Samples of the conjugate posterior with prior N(0, I), and the like from GAUSS, a little wider."""
    rng = np.random.default_rng(1)
    noise = np.array([[1.0, 0.8], [0.8, 1.0]])
    frames = []
    for n, (source, wider) in product(n_obs, {"analytic": 1.0, "GAUSS": 1.1}.items()):
        covariance = np.linalg.inv(np.eye(2) + n * np.linalg.inv(noise))
        observed = np.asarray(theta) + np.array([0.4, -0.3]) / np.sqrt(n)
        centre = covariance @ (n * np.linalg.solve(noise, observed))
        draws = rng.multivariate_normal(centre, wider * covariance, size=samples)
        frame = pd.DataFrame(draws, columns=["theta_1", "theta_2"])
        frames.append(frame.assign(n=n, source=source, sample=np.arange(samples)))
    return pd.concat(frames, ignore_index=True)
