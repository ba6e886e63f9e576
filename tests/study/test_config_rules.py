"""The rules between keys of the configuration: each breach is named with its value and the remedy."""

from __future__ import annotations

import pytest
import yaml
from config_files import message, resolved, top
from fresh_python import loaded

from tallsbi.runner.config import merge


def test_unknown_task_and_too_many_simulations_are_refused():
    text = message(top(sbibm={"tasks": ["slpc"], "n_train": [20000], "n_obs": [101]}))
    for fragment in (
        "sbibm.tasks",
        "slpc",
        "did you mean `slcp`",
        "sbibm.n_train",
        "20000",
        "sbibm.n_obs",
        "101",
    ):
        assert fragment in text


def test_setting_of_another_algorithm_is_refused():
    text = message(top(methods={"JAC": {"tau": 1.0}}))
    for fragment in ("methods.JAC.tau", "1.0", "no such setting", "steps"):
        assert fragment in text


# One case per line, in YAML as on the command line, then what the message must contain.
BROKEN = r"""
toy: {wide_prior: {std: [2, 1]}} => toy.wide_prior.std = [2, 1] && the first must be less than the second
toy: {table: {dim: 5}}           => toy.table.dim = 5 && toy.dims = [2, 10] (from workflow/scales/smoke.yaml)
toy: {dims: [2]}                 => 2 problems && toy.table.dim = 10 (from config.yaml) && toy.figure_dim = 10
toy: {n_obs: [2], noise: [0]}    => 2 problems && toy.table.n_obs = 32 && toy.table.noise = 0.01
methods: {JACK: {steps: 9}}      => methods.JACK: no such algorithm && jack.py && did you mean `JAC`?
methods: {JACK: {steps: 9}}      => 1 problem && available: && JAC, JAC_PD, LANGEVIN
methods: {GAUSS: {tau: 0.3}}     => methods.GAUSS.tau = 0.3 && it takes parts, algorithm, steps && covariances, cov_eta
methods: {GAUSS_50: {steps: 9}}    => methods.GAUSS_50: no such algorithm && or `algorithm:` says whose variant it is
methods: {GAUSS_50: {steps: 9, algorithm: GAUSSS}} => methods.GAUSS_50.algorithm = 'GAUSSS' && did you mean `GAUSS`?
methods: {GAUSS_50: {steps: 9, algorithm: JAC, tau: 1}} => methods.GAUSS_50.tau = 1 && JAC has no such setting
methods: {TAMED: {algorithm: GAUSS}} => methods.TAMED.algorithm = 'GAUSS' && TAMED is an algorithm of its own
methods: {GAUSS: {covariances: wishart}} => methods.GAUSS.covariances = 'wishart' && published && whitened
methods: {GAUSS: {parts: [toy]}} => methods.GAUSS: must take part in sbibm, jrnmm, whose figures are about it
methods: {GAUSS_PD: {narrowest: 0.9, widest: 0.1}} => methods.GAUSS_PD.narrowest = 0.9 && no more than widest = 0.1
toy: {noise: [0, 0.01, 0.0100000001]} => toy.noise = && the same to six digits
sbibm: {bounds_tasks: [slpc]}    => sbibm.bounds_tasks = ['slpc'] && no task `slpc` && did you mean `slcp`?
sbibm: {bounds_tasks: [sir]}     => sbibm.bounds_tasks = ['sir'] && the prior of sir is not uniform
sbibm: {extra_tasks: [sir]}      => sbibm.extra_tasks = ['sir'] && sir in sbibm.tasks already
sbibm: {beyond_tasks: [sir]}     => sbibm.beyond_tasks = ['sir'] && sir in sbibm.tasks already
sbibm: {beyond_tasks: [gmm]}     => sbibm.beyond_tasks = ['gmm'] && gmm in sbibm.extra_tasks already
sbibm: {steps: {sets: 50}}       => sbibm.steps.sets = 50 && no more than sbibm.sets = 2
sbibm: {n_obs: [1, 101]}         => sbibm.n_obs = [1, 101] && no more than sbibm.observations = 100
sbibm: {partial: {methods: [GAUSS_PD]}} => sbibm.partial.methods = ['GAUSS_PD'] && none of these takes part in sbibm
sbibm: {training: {choice: best}} => sbibm.training.choice = && published, validation
sbibm: {training: {exceptions: {sirr: {learning_rate: 0.001, batch_size: 64}}}} => did you mean `sir`?
sbibm: {training: {validation_share: 0.00001}} => sbibm.training.validation_share = && holds out no row of 2000
jrnmm: {theta: {C: 5000}}        => jrnmm.theta.C = 5000 && inside jrnmm.bounds.C = [10, 250]
"""


# The published choice must be among the networks that are trained; the best by validation loss always is.
UNTRAINED = r"""
sbibm: {training: {learning_rate: 0.01}} => sbibm.training.learning_rate = 0.01 && one of sbibm.training.learning_rates
sbibm: {training: {batch_sizes: [64]}} => 2 problems && training.batch_size = 256 && lotka_volterra.batch_size = 256
jrnmm: {training: {learning_rate: 0.5}} => jrnmm.training.learning_rate = 0.5 && which are trained
"""


@pytest.mark.parametrize("line", UNTRAINED.strip().splitlines())
def test_published_choice_that_is_not_trained(line):
    changes, fragments = line.split(" => ")
    given, published = yaml.safe_load(changes), {"sbibm": {"training": {"choice": "published"}}}
    text = message(top(**merge(given, published)))
    assert [fragment for fragment in fragments.split(" && ") if fragment not in text] == [], text
    resolved(**given)


@pytest.mark.parametrize("line", BROKEN.strip().splitlines())
def test_broken_config(line):
    changes, fragments = line.split(" => ")
    text = message(top(**yaml.safe_load(changes)))
    assert [fragment for fragment in fragments.split(" && ") if fragment not in text] == [], text


def test_import_is_light():
    """The Snakefile imports the rules every time it starts."""
    assert loaded("import tallsbi.study.config_rules", "torch", "pandas", "numpy") == []
