"""Simulations to train on, and observations to explain."""

# Work of a job: hundreds of simulations, or observations.
OBSERVED = {"observations": "observe/{problem}", "calibration": "calibrate/{problem}"}
SIMULATED = {"simulations": "simulate/{problem}", "groups": "simulate_groups/{problem}"}


def simulate_settings(wildcards):
    return part_of(wildcards).simulate(wildcards.problem, wildcards.simulations)


def observe_settings(wildcards):
    return part_of(wildcards).observe(wildcards.problem, wildcards.observations)


def simulated(wildcards):
    settings = simulate_settings(wildcards)
    return settings.count * (settings.members or 1) / 100


def observed(wildcards):
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
        simulations=one_of(SIMULATED),
    resources:
        **cost(lambda w: SIMULATED[w.simulations], simulated),
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
        observations=one_of(OBSERVED),
    resources:
        **cost(lambda w: OBSERVED[w.observations], observed),
    params:
        code=lambda w: code("observe", task_module(w.problem)),
        config=lambda w: observe_settings(w).as_params(),
        versions=versions("numba", "numpy", "torch"),
    script:
        "../scripts/observe.py"
