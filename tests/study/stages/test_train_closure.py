"""What a training depends on: nothing that only sampling needs, so that an edit there retrains nothing."""

import pytest
from paths import ROOT

from tallsbi.runner.fingerprint import closure
from tallsbi.study.tasks import JRNMM, module_of, names

SAMPLING = (
    "compose",
    "samplers",
    "algorithms",
    "api",
    "scores.gaussian",
    "scores.mixture",
    "scores.perturbed",
)


@pytest.mark.parametrize("script", ["train", "train_partial", "select", "simulate", "observe"])
def test_no_sampler_composition_or_toy_score_is_reached(script):
    for name in [*names(), *JRNMM]:
        reached = closure(f"workflow/scripts/{script}.py", module_of(name), root=ROOT)
        beginnings = tuple(f"tallsbi.{package}" for package in SAMPLING)
        assert [module for module in reached if module.startswith(beginnings)] == [], name


def test_toys_do_not_depend_on_networks_nor_networks_on_toys():
    toys = closure("workflow/scripts/sample_toy.py", root=ROOT)
    networks = closure("workflow/scripts/sample.py", module_of("sir"), root=ROOT)
    assert not {"tallsbi.scores.network", "tallsbi.api.engine"} & set(toys)
    assert not {"tallsbi.study.tasks.toy", "tallsbi.scores.perturbed"} & set(networks)


@pytest.mark.parametrize("script", ["collect", "select", "measure", "measure_toy"])
def test_what_only_reads_results_does_not_depend_on_networks(script):
    assert "tallsbi.scores.network" not in closure(f"workflow/scripts/{script}.py", root=ROOT)


@pytest.mark.parametrize("script", ["sample", "sample_partial", "measure_calibration", "time_network"])
def test_sampling_does_not_depend_on_what_the_library_learns_beside_a_network(script):
    reached = closure(f"workflow/scripts/{script}.py", root=ROOT)
    assert "tallsbi.api.engine" in reached
    assert [module for module in reached if module.startswith("tallsbi.summaries")] == []
