"""What all rules share: the resolved configuration, paths, and the params that decide what reruns."""

import re

from tallsbi.algorithms import base_name, module_of
from tallsbi.runner import guard
from tallsbi.runner import provenance
from tallsbi.runner.config import load_or_exit, run_name
from tallsbi.runner.fingerprint import fingerprint
from tallsbi.study.config_rules import problems as config_problems
from tallsbi.study.stages.parts import share
from tallsbi.study.tasks import has_uniform_prior, label_of
from tallsbi.study.tasks import module_of as task_module

CFG = load_or_exit(config, ROOT, config_problems)
RESULTS = f"results/{run_name(CFG)}"
LOGS = f"{RESULTS}/logs"
RECORDS = f"{RESULTS}/records"
# Threads of a job that measures times with one thread: on one machine all cores, so that nothing runs beside it;
# on a cluster one, which the scheduler keeps for it. (Inside a cluster job Snakemake counts the node's cores.)
ALONE = 1 if workflow.remote_exec else workflow._cores or 1


# Who works here, so that the next `make results` can tell a working run from a killed one.
onstart:
    guard.register(run_name(CFG))


onsuccess:
    guard.release()


onerror:
    guard.release()


def pick(*keys):
    """The settings a rule depends on, by dotted key: no more, so that no other change reruns it."""
    chosen = {}
    for key in keys:
        value, target = CFG, chosen
        *parents, last = key.split(".")
        for parent in parents:
            value, target = value[parent], target.setdefault(parent, {})
        target[last] = value[last]
    return chosen


def code(script, *modules):
    """Fingerprint of a script and all it imports, and of modules it loads by name."""
    return fingerprint(f"workflow/scripts/{script}.py", *modules, root=ROOT)


def versions(*packages):
    """Versions of the packages that decide a rule's numbers."""
    return provenance.versions(packages)


def methods_of(study):
    """Settings per method that takes part in a study, without the key that says so."""
    return {
        name: {key: value for key, value in settings.items() if key != "parts"}
        for name, settings in CFG["methods"].items()
        if study in settings.get("parts", [study])
    }


def one_of(values):
    """A wildcard constraint from a list of configured values."""
    return "|".join(re.escape(str(value)) for value in values)
