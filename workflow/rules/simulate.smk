"""Simulations to train on, and observations to infer parameters from."""

# File -> the key of the rate of the job that makes it.
OBSERVE_KEYS = {"observations": "observe/{problem}", "calibration": "calibrate/{problem}"}
SIMULATE_KEYS = {"simulations": "simulate/{problem}", "groups": "simulate_groups/{problem}"}


def simulate_settings(wildcards):
    return part_of(wildcards).simulate(wildcards.problem, wildcards.simulations)


def observe_settings(wildcards):
    return part_of(wildcards).observe(wildcards.problem, wildcards.observations)


def simulate_work(wildcards):
    """Hundreds of simulations."""
    settings = simulate_settings(wildcards)
    return settings.count * (settings.members or 1) / 100


def observe_work(wildcards):
    """Observations."""
    settings = observe_settings(wildcards)
    return settings.sets * settings.count


# The training set (simulations), or several observations of every training parameter (groups).
rule simulate:
    output:
        f"{RESULTS}/{{part}}/{{problem}}/{{simulations}}.nc",
    log:
        f"{LOGS}/{{part}}/{{problem}}/{{simulations}}.log",
    benchmark:
        f"{RECORDS}/{{part}}/{{problem}}/{{simulations}}.tsv"
    wildcard_constraints:
        simulations=one_of(SIMULATE_KEYS),
    resources:
        **cost(lambda w: SIMULATE_KEYS[w.simulations], simulate_work),
    params:
        code=lambda w: code("simulate", task_module(w.problem)),
        config=lambda w: simulate_settings(w).as_params(),
        versions=versions("numba", "numpy", "torch"),
    script:
        "../scripts/simulate.py"


# Observations of the true parameters, or of draws of the prior (calibration).
rule observe:
    output:
        f"{RESULTS}/{{part}}/{{problem}}/{{observations}}.nc",
    log:
        f"{LOGS}/{{part}}/{{problem}}/{{observations}}.log",
    benchmark:
        f"{RECORDS}/{{part}}/{{problem}}/{{observations}}.tsv"
    wildcard_constraints:
        observations=one_of(OBSERVE_KEYS),
    resources:
        **cost(lambda w: OBSERVE_KEYS[w.observations], observe_work),
    params:
        code=lambda w: code("observe", task_module(w.problem)),
        config=lambda w: observe_settings(w).as_params(),
        versions=versions("numba", "numpy", "torch"),
    script:
        "../scripts/observe.py"
