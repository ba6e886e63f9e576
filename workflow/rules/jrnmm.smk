"""The neuroscience model (section 4.3), 3-D and 4-D: simulate, train, sample, test the calibration."""

JRNMM = f"{RESULTS}/jrnmm"
JRNMM_DIMS = (3, 4)
JRNMM_METHODS = methods_of("jrnmm")
JRNMM_RUNS = [name + suffix for name in JRNMM_METHODS for suffix in ("", "-clip")]
JRNMM_N_OBS = CFG["jrnmm"]["n_obs"]
JRNMM_BOUNDS = {**CFG["jrnmm"]["bounds"], "sigma": CFG["fidelity"]["jrnmm_sigma"]}
JRNMM_CANDIDATES = [
    {"learning_rate": rate, "batch_size": CFG["jrnmm"]["training"]["batch_size"]}
    for rate in CFG["jrnmm"]["training"]["learning_rates"]
]


wildcard_constraints:
    dim=one_of(JRNMM_DIMS),


def jrnmm_training(wildcards):
    fidelity = CFG["fidelity"]
    embedding = [64, 64, 64, 32] if fidelity["jrnmm_embedding"] else []
    return {
        **common_training("jrnmm"),
        "learning_rate": float(wildcards.learning_rate),
        "batch_size": int(wildcards.batch_size),
        "hidden": fidelity["jrnmm_hidden"],
        "frequencies": fidelity["jrnmm_frequencies"],
        "theta_embedding": embedding,
        "x_embedding": embedding,
    }


def jrnmm_sampling(method, **changes):
    """Settings of a sampling job; `changes` to those of the method itself."""
    settings = JRNMM_METHODS[method]
    return {
        **pick("seed", "device", "dtype", "clip", "ddim", "fidelity.uniform_bounds_factor"),
        "bounds": JRNMM_BOUNDS,
        "switch_over": CFG["fidelity"]["uniform_switch"],
        "method": {**settings, "steps": min(settings["steps"], CFG["jrnmm"]["max_steps"]), **changes},
    }


def calibration_sampling(method):
    """The same for calibration pairs: the covariances of GAUSS would dominate the whole study."""
    few = {"cov_samples": CFG["jrnmm"]["lc2st"]["cov_samples"]}
    return jrnmm_sampling(method, **(few if "cov_samples" in JRNMM_METHODS[method] else {}))


def jrnmm_numbers(wildcards):
    """The numbers of observations of a sampling job."""
    return JRNMM_N_OBS[share(len(JRNMM_N_OBS), wildcards.scatteritem, "n")]


def jrnmm_rows(wildcards):
    settings = jrnmm_sampling(wildcards.algorithm)["method"]
    return 2 * sum(network_rows(settings, CFG["jrnmm"]["samples"], n) for n in jrnmm_numbers(wildcards))


def single_rows(_):
    settings = jrnmm_sampling("GAUSS")["method"]
    return network_rows(settings, CFG["jrnmm"]["samples"], 1, CFG["jrnmm"]["observations"])


def calibration_rows(method):
    settings = calibration_sampling(method)["method"]
    return sum(network_rows(settings, 1, n, CALIBRATION["calibration"]) for n in JRNMM_N_OBS)


def calibration_tests(_):
    """Trained classifiers, each as dear as its start and one more for every hundred calibration pairs."""
    trained = CALIBRATION["classifiers"] + CALIBRATION["permutations"]
    return trained * (1 + CALIBRATION["calibration"] / 100)


CALIBRATION = CFG["jrnmm"]["lc2st"]
CALIBRATION_BATCHES = min(CALIBRATION["batches"], CALIBRATION["calibration"])


# The calibration pairs, or the numbers of observations, of a sampling job, in parts.
scattergather:
    pairs=CALIBRATION_BATCHES,
    numbers=min(CFG["jrnmm"]["batches"], len(JRNMM_N_OBS)),


def draws_of(method, dim="{{dim}}"):
    """The draws of a method, all parts."""
    return gather.numbers(f"{JRNMM}/{dim}d/samples/{method}/numbers~{{scatteritem}}.nc")


def calibration_of(method):
    """The draws of a method for the calibration pairs, all parts."""
    return gather.pairs(f"{JRNMM}/{{{{dim}}}}d/calibration/{method}/pairs~{{scatteritem}}.nc")


rule simulate_jrnmm:
    output:
        f"{JRNMM}/{{dim}}d/simulations.nc",
    log:
        f"{LOGS}/jrnmm/{{dim}}d/simulations.log",
    benchmark:
        f"{RECORDS}/jrnmm/{{dim}}d/simulations.tsv"
    resources:
        **cost("simulate_jrnmm", CFG["jrnmm"]["simulations"]),
    params:
        code=code("simulate_jrnmm"),
        config={**pick("seed", "jrnmm.simulations"), "bounds": JRNMM_BOUNDS},
        versions=versions("numba", "numpy", "torch"),
    script:
        "../scripts/simulate_jrnmm.py"


rule observe_jrnmm:
    output:
        f"{JRNMM}/{{dim}}d/observations.nc",
    log:
        f"{LOGS}/jrnmm/{{dim}}d/observations.log",
    params:
        code=code("observe_jrnmm"),
        config=pick("seed", "jrnmm.theta", "jrnmm.observations"),
        versions=versions("numba", "numpy"),
    script:
        "../scripts/observe_jrnmm.py"


rule calibrate_jrnmm:
    output:
        f"{JRNMM}/{{dim}}d/calibration.nc",
    log:
        f"{LOGS}/jrnmm/{{dim}}d/calibration.log",
    benchmark:
        f"{RECORDS}/jrnmm/{{dim}}d/calibration.tsv"
    resources:
        **cost("calibrate_jrnmm", CFG["jrnmm"]["lc2st"]["calibration"] * max(JRNMM_N_OBS)),
    params:
        code=code("calibrate_jrnmm"),
        config={**pick("seed", "jrnmm.lc2st.calibration"), "bounds": JRNMM_BOUNDS},
        n=max(JRNMM_N_OBS),
        versions=versions("numba", "numpy", "torch"),
    script:
        "../scripts/calibrate_jrnmm.py"


JRNMM_TRAINING = "jrnmm/{dim}d/training/bs~{batch_size}-lr~{learning_rate}"


rule train_jrnmm:
    input:
        f"{JRNMM}/{{dim}}d/simulations.nc",
    output:
        network=f"{RESULTS}/{JRNMM_TRAINING}/network.safetensors",
        losses=f"{RESULTS}/{JRNMM_TRAINING}/losses.csv",
    log:
        f"{LOGS}/{JRNMM_TRAINING}.log",
    benchmark:
        f"{RECORDS}/{JRNMM_TRAINING}.tsv"
    resources:
        **cost(
            "train_jrnmm", lambda w: training_rows(jrnmm_training(w), CFG["jrnmm"]["simulations"]), gpu=True
        ),
    params:
        code=code("train_jrnmm"),
        config=jrnmm_training,
        checkpoints=f"{RESULTS}/{JRNMM_TRAINING}/checkpoints",
        versions=versions("numpy", "torch"),
    script:
        "../scripts/train_jrnmm.py"


def jrnmm_candidates(dim, name):
    return [
        f"{JRNMM}/{dim}d/training/bs~{one['batch_size']}-lr~{one['learning_rate']:g}/{name}"
        for one in JRNMM_CANDIDATES
    ]


rule select_jrnmm:
    input:
        networks=lambda w: jrnmm_candidates(w.dim, "network.safetensors"),
    output:
        network=f"{JRNMM}/{{dim}}d/network.safetensors",
        choice=f"{JRNMM}/{{dim}}d/choice.json",
    log:
        f"{LOGS}/jrnmm/{{dim}}d/selection.log",
    params:
        task=lambda w: f"{w.dim}d",
        code=code("select_network"),
        config={
            "rule": "stated" if CFG["fidelity"]["early_stopping"] else "published",
            "published": {key: CFG["jrnmm"]["training"][key] for key in ("learning_rate", "batch_size")},
            "candidates": JRNMM_CANDIDATES,
        },
        versions=versions("numpy"),
    script:
        "../scripts/select_network.py"


rule sample_jrnmm:
    input:
        network=f"{JRNMM}/{{dim}}d/network.safetensors",
        observations=f"{JRNMM}/{{dim}}d/observations.nc",
    output:
        plain=f"{JRNMM}/{{dim}}d/samples/{{algorithm}}/numbers~{{scatteritem}}.nc",
        clipped=f"{JRNMM}/{{dim}}d/samples/{{algorithm}}-clip/numbers~{{scatteritem}}.nc",
    log:
        f"{LOGS}/jrnmm/{{dim}}d/samples/{{algorithm}}/numbers~{{scatteritem}}.log",
    benchmark:
        f"{RECORDS}/jrnmm/{{dim}}d/samples/{{algorithm}}/numbers~{{scatteritem}}.tsv"
    wildcard_constraints:
        algorithm=one_of(JRNMM_METHODS),
    resources:
        **cost("sample_jrnmm/{algorithm}/{dim}", jrnmm_rows, gpu=True),
    params:
        code=lambda w: code("sample_jrnmm", module_of(w.algorithm)),
        config=lambda w: {**pick("jrnmm.samples"), **jrnmm_sampling(w.algorithm)},
        n_obs=jrnmm_numbers,
        versions=versions("numpy", "torch"),
    script:
        "../scripts/sample_jrnmm.py"


rule sample_jrnmm_singly:
    input:
        network=f"{JRNMM}/{{dim}}d/network.safetensors",
        observations=f"{JRNMM}/{{dim}}d/observations.nc",
    output:
        f"{JRNMM}/{{dim}}d/single.nc",
    log:
        f"{LOGS}/jrnmm/{{dim}}d/single.log",
    benchmark:
        f"{RECORDS}/jrnmm/{{dim}}d/single.tsv"
    resources:
        **cost("sample_jrnmm_singly", single_rows, gpu=True),
    params:
        code=code("sample_jrnmm_singly", module_of("GAUSS")),
        config={**pick("jrnmm.samples"), **jrnmm_sampling("GAUSS")},
        versions=versions("numpy", "torch"),
    script:
        "../scripts/sample_jrnmm_singly.py"


rule sample_calibration:
    input:
        network=f"{JRNMM}/{{dim}}d/network.safetensors",
        calibration=f"{JRNMM}/{{dim}}d/calibration.nc",
    output:
        plain=f"{JRNMM}/{{dim}}d/calibration/{{algorithm}}/pairs~{{scatteritem}}.nc",
        clipped=f"{JRNMM}/{{dim}}d/calibration/{{algorithm}}-clip/pairs~{{scatteritem}}.nc",
    log:
        f"{LOGS}/jrnmm/{{dim}}d/calibration/{{algorithm}}/pairs~{{scatteritem}}.log",
    benchmark:
        f"{RECORDS}/jrnmm/{{dim}}d/calibration/{{algorithm}}/pairs~{{scatteritem}}.tsv"
    wildcard_constraints:
        algorithm=one_of(JRNMM_METHODS),
    resources:
        **cost(
            "sample_calibration/{algorithm}/{dim}",
            lambda w: 2 * calibration_rows(w.algorithm) / CALIBRATION_BATCHES,
            gpu=True,
        ),
    params:
        code=lambda w: code("sample_calibration", module_of(w.algorithm)),
        config=lambda w: {**pick("jrnmm.n_obs"), **calibration_sampling(w.algorithm)},
        versions=versions("numpy", "torch"),
    script:
        "../scripts/sample_calibration.py"


rule test_calibration:
    input:
        network=f"{JRNMM}/{{dim}}d/network.safetensors",
        observations=f"{JRNMM}/{{dim}}d/observations.nc",
        calibration=f"{JRNMM}/{{dim}}d/calibration.nc",
        drawn=[path for suffix in ("", "-clip") for path in calibration_of("{{algorithm}}" + suffix)],
        samples=[path for suffix in ("", "-clip") for path in draws_of("{{algorithm}}" + suffix)],
    output:
        f"{JRNMM}/{{dim}}d/lc2st/{{algorithm}}/n~{{n}}.csv",
    log:
        f"{LOGS}/jrnmm/{{dim}}d/lc2st/{{algorithm}}/n~{{n}}.log",
    benchmark:
        f"{RECORDS}/jrnmm/{{dim}}d/lc2st/{{algorithm}}/n~{{n}}.tsv"
    wildcard_constraints:
        algorithm=one_of(JRNMM_METHODS),
        n=r"\d+",
    resources:
        **cost("test_calibration/{algorithm}", calibration_tests),
    params:
        code=code("test_calibration"),
        config=pick("jrnmm.lc2st.classifiers", "jrnmm.lc2st.permutations", "jrnmm.lc2st.normalise"),
        versions=versions("numpy", "sbi", "scikit-learn", "torch"),
    script:
        "../scripts/test_calibration.py"


rule collect_jrnmm_losses:
    input:
        curves=[path for dim in JRNMM_DIMS for path in jrnmm_candidates(dim, "losses.csv")],
        choices=[f"{JRNMM}/{dim}d/choice.json" for dim in JRNMM_DIMS],
    output:
        f"{JRNMM}/losses.csv",
    log:
        f"{LOGS}/jrnmm/losses.log",
    params:
        code=code("collect_losses"),
        config={},
        settings=[
            {"task": f"{dim}d", "n_train": CFG["jrnmm"]["simulations"], **candidate}
            for dim in JRNMM_DIMS
            for candidate in JRNMM_CANDIDATES
        ],
        cells=[(f"{dim}d", CFG["jrnmm"]["simulations"]) for dim in JRNMM_DIMS],
        versions=versions("pandas"),
    script:
        "../scripts/collect_losses.py"


rule measure_jrnmm:
    input:
        [path for dim in JRNMM_DIMS for method in JRNMM_RUNS for path in draws_of(method, dim)],
    output:
        f"{JRNMM}/dirac.csv",
    log:
        f"{LOGS}/jrnmm/dirac.log",
    params:
        code=code("measure_jrnmm"),
        config={**pick("jrnmm.theta"), "bounds": JRNMM_BOUNDS},
        versions=versions("numpy", "pandas"),
    script:
        "../scripts/measure_jrnmm.py"


rule collect_jrnmm_draws:
    input:
        tall=[path for dim in JRNMM_DIMS for path in draws_of("GAUSS", dim)],
        single=[f"{JRNMM}/{dim}d/single.nc" for dim in JRNMM_DIMS],
    output:
        f"{JRNMM}/draws.csv",
    log:
        f"{LOGS}/jrnmm/draws.log",
    params:
        code=code("collect_jrnmm_draws"),
        config={},
        versions=versions("pandas"),
    script:
        "../scripts/collect_jrnmm_draws.py"


rule collect_lc2st:
    input:
        [
            f"{JRNMM}/{dim}d/lc2st/{method}/n~{n}.csv"
            for dim in JRNMM_DIMS
            for method in JRNMM_METHODS
            for n in JRNMM_N_OBS
        ],
    output:
        f"{JRNMM}/lc2st.csv",
    log:
        f"{LOGS}/jrnmm/lc2st.log",
    params:
        code=code("collect"),
        config={},
        versions=versions("pandas"),
    script:
        "../scripts/collect.py"
