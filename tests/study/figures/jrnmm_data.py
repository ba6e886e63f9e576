"""Made-up results of the Jansen-Rit model that look like the study's."""

from itertools import product

import numpy as np
import pandas as pd

from tallsbi.study.settings.artifacts import JrnmmFigures, TaskRows

THETA = {"C": 135.0, "mu": 220.0, "sigma": 2000.0, "g": 0.0}
BOUNDS = {"C": [10, 250], "mu": [50, 500], "sigma": [100, 5000], "g": [-20, 20]}
WIDTH = {"C": 12.0, "mu": 50.0, "sigma": 450.0, "g": 3.0}
N_OBS = (1, 8, 14, 22, 30)
STEPS = {"GAUSS": 1000, "JAC": 400, "LANGEVIN": 400, "DET_GEF": 1000}
METHODS = [f"{name}{suffix}" for name in STEPS for suffix in ("", "-clip")]
LOSS_SETTINGS = TaskRows(tasks=("3d", "4d"), labels={"3d": "3-D", "4d": "4-D"})
LABELS = {"C": "$C$", "mu": r"$\mu$", "sigma": r"$\sigma$", "g": "$g$"}


def settings(dim):
    names = list(THETA)[:dim]
    bounds = {name: (float(low), float(high)) for name, (low, high) in BOUNDS.items() if name in names}
    theta, labels = ({name: values[name] for name in names} for values in (THETA, LABELS))
    return JrnmmFigures(theta=theta, bounds=bounds, labels=labels, samples=1000)


def losses(epochs=600, every=5, seed=1):
    """Loss curves that were validated every few epochs."""
    rng = np.random.default_rng(seed)
    epoch = np.arange(1, epochs + 1)
    frames = []
    for task, rate in product(("3d", "4d"), (0.0001, 0.001)):
        fitted = np.exp(-((rate * 3e4 * epoch) ** 0.6) / 20)
        floor = 0.18 if task == "3d" else 0.24
        train = floor + 0.6 * fitted + 0.005 * rng.normal(size=epochs)
        validation = floor + 0.6 * fitted + 10 * rate + 0.01 * rng.normal(size=epochs)
        frame = pd.DataFrame({"epoch": epoch, "train_loss": train, "val_loss": validation})
        frame.loc[(epoch % every != 0) & (epoch != epochs), "val_loss"] = np.nan
        key = {"task": task, "n_train": 50000, "batch_size": 256, "learning_rate": rate}
        frames.append(frame.assign(**key, stop_epoch=epochs, chosen=rate == 0.0001))
    return pd.concat(frames, ignore_index=True)


def dirac(n_obs=N_OBS, samples=1000, seed=2):
    """Distances: they shrink in 3-D and not in 4-D; DET_GEF diverges for many observations."""
    rng = np.random.default_rng(seed)
    rows = []
    for dim, (rank, method), n in product((3, 4), enumerate(METHODS), n_obs):
        base = method.removesuffix("-clip")
        lost = base in ("JAC", "DET_GEF") and "clip" not in method and n >= 8
        size = (1 + 0.1 * rank) * (n**-0.4 if dim == 3 else 1.0) * np.exp(0.05 * rng.normal())
        size *= 40 if method == "LANGEVIN" and dim == 4 and n >= 22 else 1
        cell = {"dim": dim, "method": method, "steps": STEPS[base], "n": n, "samples": samples}
        for name in [*list(THETA)[:dim], "all"]:
            published = size * WIDTH.get(name, 170.0)
            rows.append(
                {
                    **cell,
                    "parameter": name,
                    "published": np.nan if lost else published,
                    "mmd": np.nan if lost else 0.4 * min(size, 3.0),
                    "lost_share": 0.7 if lost else 0.0,
                }
            )
    return pd.DataFrame(rows)


def draws(dim, n_obs=N_OBS, samples=1000, single=30, seed=3):
    """Draws around the truth that narrow with n; in 4-D mu, sigma and g lie on a curve that does not."""
    rng = np.random.default_rng(seed)
    names = list(THETA)[:dim]
    low, high = np.array([BOUNDS[name] for name in names], float).T
    frames = []
    posteriors = [("tall", n, -1) for n in n_obs] + [("single", 1, j) for j in range(single)]
    for kind, n, observation in posteriors:
        width = np.array([WIDTH[name] for name in names]) / np.sqrt(n)
        values = np.array([THETA[name] for name in names]) + width * rng.normal(size=dim)
        values = values + width * rng.normal(size=(samples, dim))
        if dim == 4:
            along = rng.normal(size=samples)
            values[:, 2] = 2000 * np.exp(0.4 * along + 0.3 / np.sqrt(n) * rng.normal(size=samples))
            values[:, 1] += 80 * along
            values[:, 3] -= 3 * along
        values = np.where(values < low, 2 * low - values, np.where(values > high, 2 * high - values, values))
        frame = pd.DataFrame(values, columns=names).rename_axis("draw").reset_index()
        long = frame.melt("draw", var_name="parameter", value_name="value")
        frames.append(long.assign(dim=dim, kind=kind, n=n, observation=observation))
    return pd.concat(frames, ignore_index=True)
