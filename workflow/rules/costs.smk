"""What a job costs: its size, and the memory and time limits that follow from it (tallsbi.runner.costs)."""

from tallsbi.runner.costs import TABLE as COST_TABLE
from tallsbi.runner.costs import read_model

COSTS = read_model(ROOT / COST_TABLE)


def cost(key, work=1, gpu=False):
    """Resources of a rule: `key` may name wildcards; `work` is a number or a function of the wildcards."""

    def named(wildcards):
        return key.format_map(dict(wildcards.items()))

    def amount(wildcards):
        return max(1, round(work(wildcards) if callable(work) else work))

    return {
        "key": named,
        "work": amount,
        "mem_mb": lambda wildcards, attempt: COSTS.mem_mb(named(wildcards), attempt),
        "runtime": lambda wildcards, attempt: COSTS.runtime(named(wildcards), amount(wildcards), attempt),
        **({"gpu": 1} if gpu and CFG["device"] == "cuda" else {}),
    }


def network_rows(method, samples, n, datasets=1, step=150):
    """Thousands of rows that go through the network for the samples of n observations, covariances included.

    `step`: rows that go through it in the time a step takes beside them.
    """
    steps, cov_steps = method["steps"] * method.get("inner_steps", 1), method.get("cov_steps", 0)
    drawn = steps * (datasets * samples * n + step)
    covariances = cov_steps * (datasets * method.get("cov_samples", 0) * n + step)
    return (drawn + covariances) / 1000


def training_rows(settings, simulations):
    """Thousands of rows that go through the network; every batch costs as much as some rows more."""
    batch_overhead = 60
    return settings["epochs"] * simulations * (1 + batch_overhead / settings["batch_size"]) / 1000
