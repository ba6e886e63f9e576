"""Made-up data of a whole run, in the tidy form of the DAG, in which the paper's story is true."""

from itertools import product

import numpy as np
import pandas as pd

from tallsbi.study.settings.artifacts import ClaimsTable

FIDELITY = {"toy_prior": "wide", "exclude_sets": True, "uniform_bounds_factor": 2.0, "early_stopping": False}
THETA = {"C": 135, "mu": 220, "sigma": 2000, "g": 0}
BOUNDS = {"C": (10, 250), "mu": (50, 500), "sigma": (100, 5000), "g": (-20, 20)}
MAIN = ("slcp", "lotka_volterra", "sir")
EXTRA = ("gaussian_linear", "gmm", "gmm_uniform", "bernoulli_glm", "bernoulli_glm_raw", "two_moons")
HARDWARE = "one thread of a made-up processor"
METHODS = ("GAUSS", "JAC", "LANGEVIN", "DET_GEF")
RUNS = [name + suffix for name in (*METHODS, "TAMED") for suffix in ("", "-clip")]


def settings(path):
    return ClaimsTable(
        claims=str(path),
        other_run="smoke",
        fidelity=FIDELITY,
        toy_metric="max_sw",
        uniform_tasks=("slcp", "gmm_uniform", "two_moons"),
        theta=THETA,
        bounds=BOUNDS,
    )


def toy(
    noises=(0, 0.001, 0.01, 0.1), n_obs=(2, 8, 32, 90), dims=(2, 10, 16), seeds=5, steps=(400,), rng=None
):
    """GAUSS is four times as accurate as LANGEVIN; JAC is exact without noise and far off with it."""
    rng = rng or np.random.default_rng(0)
    problems = [(p, m) for p in ("gaussian-wide", "gaussian-standard") for m in dims] + [("mixture", 10)]
    rows = []
    for (problem, m), noise, n, seed, method, T in product(
        problems, noises, n_obs, range(seeds), METHODS, steps
    ):
        size = {"GAUSS": 0.2, "JAC": 0.1, "LANGEVIN": 0.8, "DET_GEF": 0.6}[method]
        size *= 30 * (noise > 0) + 1 if method == "JAC" else 1 + noise * 10
        value = size * np.exp(0.1 * rng.normal()) * n**-0.2
        rows.append(
            {
                "problem": problem,
                "m": m,
                "noise": float(noise),
                "n": n,
                "seed": seed,
                "method": method,
                "steps": T,
                "samples": 1000,
                "max_sw": value,
                "max_sw_self": 0.1 * n**-0.2,
                "max_sw_norm": value - 0.1 * n**-0.2,
                "lost_share": 0.0,
            }
        )
    frame = pd.DataFrame(rows)
    sliced = {
        name.removeprefix("max_"): 0.5 * frame[name] for name in ("max_sw", "max_sw_self", "max_sw_norm")
    }
    return frame.assign(**sliced)


def timing(dims=(2, 10, 32), steps=(50, 400, 1000), rounds=5, rng=None):
    rng = rng or np.random.default_rng(1)
    cost = {"GAUSS": 0.4, "JAC": 0.55, "LANGEVIN": 1.0, "DET_GEF": 0.22}
    rows = [
        (problem, m, 32, T, method, 1000, HARDWARE, r, T * cost[method] * np.exp(0.05 * rng.normal()))
        for problem, m, T, method, r in product(
            ("gaussian-wide", "mixture"), dims, steps, METHODS, range(1, rounds + 1)
        )
    ]
    return pd.DataFrame(
        rows, columns=["problem", "m", "n", "steps", "method", "samples", "hardware", "round", "seconds"]
    )


def pedagogical(n_obs=(1, 4, 16, 64), samples=1000, wider=1.02):
    rng = np.random.default_rng(2)
    frames = []
    for n, (source, factor) in product(n_obs, {"analytic": 1.0, "GAUSS": wider}.items()):
        draws = pd.DataFrame(
            rng.normal(size=(samples, 2)) * factor / np.sqrt(n), columns=["theta_1", "theta_2"]
        )
        frames.append(draws.assign(n=n, source=source, sample=np.arange(samples)))
    return pd.concat(frames, ignore_index=True)


def sbibm_distances(
    tasks=(*MAIN, *EXTRA), methods=RUNS, sets=25, n_obs=(1, 8, 14, 30), n_train=(1000, 30000), lost=True
):
    """GAUSS and JAC-clip are best, LANGEVIN falls behind with n, JAC is lost for n > 1."""
    rng = np.random.default_rng(3)
    rows = []
    for task in tasks:
        hard = np.exp(0.4 * rng.normal(size=sets))
        for budget, n, method, index in product(n_train, n_obs, methods, range(sets)):
            base = method.removesuffix("-clip")
            growth = {"GAUSS": 0.1, "JAC": 0.12, "LANGEVIN": 0.9, "DET_GEF": 0.6, "TAMED": 0.5}[base]
            learns = 0.3 if base in ("GAUSS", "JAC") else -0.2
            size = hard[index] * n**growth * (30000 / budget) ** learns * np.exp(0.1 * rng.normal())
            gone = lost and method == "JAC" and n > 1
            rows.append(
                {
                    "task": task,
                    "n_train": budget,
                    "n": n,
                    "set": index,
                    "method": method,
                    "samples": 1000,
                    "steps": 400,
                    "sw": np.nan if gone else 0.1 * size,
                    "mmd": np.nan if gone else 0.02 * size + 0.001 * rng.normal(),
                    "c2st": np.nan if gone else 1 - 0.3 * np.exp(-0.1 * size),
                    "mmd_valid": not gone,
                    "c2st_valid": not gone,
                    "lost_share": 0.8 if gone else 0.0,
                }
            )
    return pd.DataFrame(rows)


def partial(distances, n=30):
    plain = distances[
        distances.task.isin(MAIN) & distances.method.isin(["GAUSS", "LANGEVIN"]) & (distances.n == n)
    ]
    parts = [plain.assign(n_max=1, encoder="none")]
    for n_max, factor in {3: 0.3, 30: 2.0}.items():
        parts.append(plain.assign(n_max=n_max, encoder="mean", sw=plain.sw * factor))
    return pd.concat(parts, ignore_index=True)


def losses(tasks=MAIN, n_train=(1000, 10000), epochs=60):
    rng = np.random.default_rng(4)
    frames = []
    for task, budget, batch, rate in product(tasks, n_train, (64, 256), (0.0001, 0.001)):
        epoch = np.arange(1, epochs + 1)
        best = (20 if batch == 64 else 35) + rng.integers(5)
        jumps = (0.02 if batch == 64 else 0.005) * rng.normal(size=epochs)
        val = 0.2 + 0.0005 * (epoch - best) ** 2 / 10 + jumps * 0.01
        frame = pd.DataFrame({"epoch": epoch, "train_loss": val, "val_loss": val})
        frames.append(
            frame.assign(task=task, n_train=budget, batch_size=batch, learning_rate=rate, chosen=False)
        )
    return pd.concat(frames, ignore_index=True)


def draws(n_obs=(1, 8, 30), count=500):
    rng = np.random.default_rng(5)
    frames = []
    for dim, n in product((3, 4), n_obs):
        for name in list(THETA)[:dim]:
            sd = (BOUNDS[name][1] - BOUNDS[name][0]) / 12**0.5
            narrow = 1.0 if dim == 4 and name in ("mu", "sigma") else n**-0.5
            values = THETA[name] + sd * narrow * rng.normal(size=count)
            frame = pd.DataFrame({"draw": np.arange(count), "value": values})
            frames.append(frame.assign(dim=dim, kind="tall", n=n, observation=-1, parameter=name))
    return pd.concat(frames, ignore_index=True)


def lc2st(n_obs=(1, 8, 22, 30), classifiers=5, calibration=10000):
    rng = np.random.default_rng(6)
    rows = []
    for dim, method, n, c in product((3, 4), RUNS[:8], n_obs, range(classifiers)):
        passes = method.startswith("GAUSS") or n <= 8
        p = rng.uniform(0.3, 0.7) if passes else rng.uniform(0, 0.03)
        if method == "JAC" and n > 1:
            rows.append((dim, method, n, calibration, 0.0, 100, c, np.nan, np.nan))
        else:
            rows.append((dim, method, n, calibration, 1.0, 100, c, 0.05, p))
    names = ["dim", "method", "n", "calibration", "lost_share", "permutations", "classifier"]
    return pd.DataFrame(rows, columns=[*names, "statistic", "p_value"])


def theory():
    rows = [
        *(("score_error", "anisotropic", method, 2, 2, 0, 0, 1e-9) for method in ("GAUSS", "JAC")),
        *(
            ("law_error", case, method, m, n, 1000, i, size * (1 + 0.1 * i))
            for n in (1, 10)
            for case, m in (("isotropic", 1), ("isotropic", 3), ("anisotropic", 3))
            for method, size in {"GAUSS": 0.01, "DET_GEF": 0.2 if case[0] == "a" and n > 1 else 0.01}.items()
            for i in range(8)
        ),
        *(
            ("spread", "isotropic", "DET_GEF", m, n, 1000, i, 1.01)
            for n in (1, 10)
            for m in (1, 3)
            for i in range(8)
        ),
        *(
            ("covariance_effect", case, "GAUSS", 10, 32, 100, i, 0.5 + 0.05 * i)
            for case in ("gaussian-wide", "gaussian-standard")
            for i in range(8)
        ),
        ("evaluations", "tall", "GAUSS", 3, 4, 12, 0, 1.0),
        ("evaluations", "tall", "LANGEVIN", 3, 4, 12, 0, 5.0),
        ("jacobian_entries", "tall", "JAC", 3, 4, 12, 0, 1.0),
        *(("modes", task, "", 5, 8, 0, 0, modes) for task, modes in zip(MAIN, (4, 1, 1), strict=True)),
    ]
    columns = ["quantity", "case", "method", "m", "n", "steps", "seed", "value"]
    return pd.DataFrame(rows, columns=columns)


def run(sets=25, seeds=5, samples=500):
    """All files of a run by the names of `tallsbi.study.claims.views`."""
    distances = sbibm_distances(sets=sets)
    guidance = distances[distances.task.isin(MAIN) & (distances.method == "GAUSS")]
    rng = np.random.default_rng(7)
    noise = np.exp(0.02 * rng.normal(size=len(guidance)))
    guidance = guidance.assign(sw=guidance.sw * noise * np.where(guidance.task == "slcp", 2.0, 1.0))
    other = distances[(distances.task == "slcp") & (distances.n_train == distances.n_train.max())]
    other = other.assign(sw=other.sw * np.where(other.method == "GAUSS", 200.0, 1.0))
    cell = toy(noises=(0.01,), n_obs=(32,), dims=(10,), steps=(50, 150, 400, 1000), seeds=seeds)
    jrnmm = losses(tasks=("3d", "4d"), n_train=(50000,)).query("batch_size == 256")
    return {
        "toy_distances": toy(seeds=seeds),
        "toy_steps": cell[cell.problem != "gaussian-standard"],
        "toy_timing": timing(),
        "pedagogical": pedagogical(samples=max(samples, 200)),
        "sbibm_distances": distances,
        "other_bounds": other,
        "sbibm_losses": losses(),
        "guidance": guidance,
        "partial": partial(distances),
        "jrnmm_draws": draws(count=samples),
        "jrnmm_lc2st": lc2st(),
        "jrnmm_losses": jrnmm,
        "theory": theory(),
    }
