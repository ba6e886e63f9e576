"""What all rules share: the resolved configuration, paths, costs of jobs, and the params that decide what reruns."""

import re
from functools import cache

from tallsbi.algorithms import base_name
from tallsbi.algorithms import module_of as algorithm_module
from tallsbi.runner import display, guard, provenance
from tallsbi.runner.config import load_or_exit, run_name
from tallsbi.runner.costs import TABLE as COST_TABLE
from tallsbi.runner.costs import read_model
from tallsbi.runner.fingerprint import fingerprint
from tallsbi.runner.recall import recall_or_exit, renew
from tallsbi.study import artifacts
from tallsbi.study.config_rules import problems as config_problems
from tallsbi.study.machine import demand_precision
from tallsbi.study.parts.study import Study
from tallsbi.study.parts import work
from tallsbi.study.tasks import module_of as task_module

CONFIG = load_or_exit(config, ROOT, config_problems)
ARTIFACTS = artifacts.read(ROOT, Study(CONFIG))
# The benchmark is limited to the cells that tables, figures and claims need or the configuration asks for.
STUDY = Study(CONFIG, ARTIFACTS.cells)
RESULTS = f"results/{run_name(CONFIG)}"
TOY, SBIBM, JRNMM = (f"{RESULTS}/{part}" for part in ("toy", "sbibm", "jrnmm"))
LOGS = f"{RESULTS}/logs"
RECORDS = f"{RESULTS}/records"
COSTS = read_model(ROOT / COST_TABLE)
# Threads of a job that measures times with one thread: on one machine all cores, so that nothing runs beside it;
# on a cluster one, which the scheduler keeps for it. (Inside a cluster job Snakemake counts the node's cores.)
TIMING_THREADS = 1 if workflow.remote_exec else workflow._cores or 1


# Results that were copied here are recognised before Snakemake decides what to run.
if workflow.is_main_process:
    recall_or_exit(Path(RESULTS))


# The guard records this run, so that the next `make results` can tell a working run from a killed one.
onstart:
    if CONFIG["device"] == "cuda" and workflow.local_exec:
        guard.demand_gpu()
    if workflow.local_exec:
        demand_precision(CONFIG["precision"], CONFIG["device"])
    guard.register(run_name(CONFIG))
    display.expect(
        {
            job.jobid: COSTS.seconds_of(job.resources, job.rule.name)
            for job in workflow.dag.needrun_jobs()
        },
        cores=(workflow._cores if workflow.local_exec else workflow.nodes) or 1,
    )


onsuccess:
    guard.release()
    if workflow.touch:
        renew(Path(RESULTS))


onerror:
    guard.release()


def one_of(values):
    """A wildcard constraint from a list of configured values."""
    return "|".join(re.escape(str(value)) for value in values)


# {part}/{problem}: sbibm/<task> or jrnmm/<dim>d, the problems with networks. {variant}: a folder of samples.
wildcard_constraints:
    part=one_of(STUDY.trained),
    problem=one_of([problem for part in STUDY.trained.values() for problem in part.problems]),
    toy=one_of(STUDY.toy.dims),
    n_train=r"\d+",
    batch_size=r"\d+",
    learning_rate=r"[0-9.e-]+",
    n_max=r"\d+",
    encoder=one_of(CONFIG["sbibm"]["partial"]["encoders"]),
    algorithm=one_of(CONFIG["methods"]),
    m=r"\d+",
    noise=r"[0-9.e-]+",
    steps=r"\d+",


# The parameter sets, the calibration pairs or the numbers of observations of a sampling job, in batches that a
# cluster can do side by side.
scattergather:
    sets=STUDY.sbibm.batches,
    pairs=STUDY.jrnmm.pair_batches,
    numbers=STUDY.jrnmm.n_obs_batches,


def part_of(wildcards):
    return STUDY.trained[wildcards.part]


# Hundreds of jobs share a few dozen scripts: each walk through the code is done once per start of the workflow.
@cache
def code(script, *modules):
    """Fingerprint of a script and all it imports, and of modules it loads by name."""
    return fingerprint(f"workflow/scripts/{script}.py", *modules, root=ROOT)


def module_of(method):
    """The module of the algorithm behind a method, plain or clipped."""
    name = base_name(method)
    return algorithm_module(CONFIG["methods"][name].get("algorithm", name))


@cache
def versions(*packages):
    """Versions of the packages that decide a rule's numbers."""
    return provenance.versions(packages)


def cost(key, size=1, gpu=False):
    """Resources of a rule; the key of its rate (may name wildcards) and its size are values or functions of wildcards."""

    def rate_key(wildcards):
        return (key(wildcards) if callable(key) else key).format_map(dict(wildcards.items()))

    def work_units(wildcards):
        return max(1, round(size(wildcards) if callable(size) else size))

    return {
        "key": rate_key,
        "work": work_units,
        "mem_mb": lambda wildcards, attempt: COSTS.mem_mb(rate_key(wildcards), attempt),
        "runtime": lambda wildcards, attempt: COSTS.runtime(
            rate_key(wildcards), work_units(wildcards), attempt
        ),
        **({"gpu": 1} if gpu and CONFIG["device"] == "cuda" else {}),
    }
