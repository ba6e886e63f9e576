"""The Snakemake profiles: what belongs to a machine is in the profile of that machine, and nowhere else."""

import re

import pytest
import yaml

from study import REPOSITORY, clone

DEFAULT = REPOSITORY / "profiles/default/config.yaml"
SLURM = REPOSITORY / "workflow/profiles/slurm/config.yaml"


def load(path):
    return yaml.safe_load(path.read_text())


def test_default_profile_overrules_nothing_of_the_cluster():
    """Snakemake lets the default profile win over the one that is named, key by key."""
    assert not load(DEFAULT).keys() & load(SLURM).keys()


def test_default_profile_belongs_to_no_machine():
    keys = load(DEFAULT).keys()
    assert not keys & {"cores", "executor", "jobs", "retries", "default-resources", "latency-wait"}
    assert load(DEFAULT)["keep-going"] is True
    assert load(DEFAULT)["rerun-incomplete"] is True


def test_retries_are_for_the_profile_to_decide():
    rules = sorted((REPOSITORY / "workflow/rules").glob("*.smk"))
    assert rules
    for path in [REPOSITORY / "Snakefile", *rules]:
        assert not re.search(r"^\s*retries:", path.read_text(), flags=re.MULTILINE), path.name
    assert load(SLURM)["retries"] == 2


@pytest.mark.dag
def test_slurm_profile_plans_the_study_where_there_is_no_slurm(tmp_path):
    """With both lines edited, as docs/cluster.md asks for."""
    study = clone(tmp_path / "study")
    profile = "workflow/profiles/slurm/config.yaml"
    study.edit(profile, "# slurm_partition: compute ", "slurm_partition: long ")
    study.edit(profile, "# slurm_account: my_account ", "slurm_account: physics ")
    done = study.snakemake(
        "results/smoke/toy/pedagogical.csv", "--dry-run", "--profile", "workflow/profiles/slurm"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "slurm_partition=long, slurm_account=physics" in done.stdout + done.stderr


@pytest.mark.dag
def test_jobs_that_use_the_device_ask_for_a_gpu(tmp_path):
    planned = clone(tmp_path / "study").snakemake("--dry-run", "--config", "device=cuda")
    assert planned.returncode == 0, planned.stdout + planned.stderr
    jobs = re.findall(r"^rule (\w+):\n(?:    .*\n)*?    resources: (.*)$", planned.stdout, flags=re.MULTILINE)
    asking = {rule for rule, resources in jobs if "gpu=1" in resources}
    assert {"train", "sample", "time_toy"} <= asking
    assert asking == {
        rule for rule, _ in jobs if rule.startswith(("train", "sample", "time", "measure_calibration"))
    }
