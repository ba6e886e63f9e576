"""What the study decides from its configuration: settings of jobs with nothing that a job does not depend on."""

from __future__ import annotations

import copy

import pytest
import yaml
from config_files import ROOT, resolved
from fresh_python import loaded
from studies import STUDY, changed

from tallsbi.study.parts import work
from tallsbi.study.parts.artifacts import SETTINGS
from tallsbi.study.parts.study import Study
from tallsbi.study.settings.select import Candidate

SCALES = ("smoke", "laptop", "decisive", "paper")


def jobs(study):
    """Settings of one job of each stage and part."""
    toy, sbibm, jrnmm = study.toy, study.sbibm, study.jrnmm
    return {
        "toy sample": toy.sample("mixture", 10, 0.01, 50, "GAUSS-clip"),
        "toy measure": toy.measure(by_steps=False),
        "toy reference": toy.reference("mixture", 10),
        "toy time": toy.time("mixture", 10),
        "pedagogical": toy.pedagogical(),
        "theory": study.theory(),
        "sbibm simulate": sbibm.simulate("slcp", "simulations"),
        "groups": sbibm.simulate("slcp", "groups"),
        "sbibm observe": sbibm.observe("slcp", "observations"),
        "reference": sbibm.reference("slcp"),
        "posteriors": sbibm.observe_many("slcp", "posteriors"),
        "sbibm train": sbibm.train("slcp", 2000, Candidate(0.001, 64)),
        "guidance train": sbibm.train_guidance("slcp", 2000),
        "partial train": sbibm.train_groups("slcp", 2000, "mean", 3),
        "select": sbibm.select("slcp"),
        "sbibm sample": sbibm.sample("slcp", 2000, "samples", "JAC", "1-of-2"),
        "other bounds": sbibm.sample("slcp", 2000, "other_bounds", "JAC", "1-of-2"),
        "guidance sample": sbibm.sample("slcp", 2000, "guidance", "GAUSS", "1-of-2"),
        "partial sample": sbibm.sample_groups("slcp", 2000),
        "measure": sbibm.measure("slcp", 2000, "samples"),
        "partial measure": sbibm.measure("slcp", 2000, "partial"),
        "steps": sbibm.time_steps("sir"),
        "many": sbibm.time_many("sir"),
        "many observations": sbibm.observe_many("sir"),
        "jrnmm simulate": jrnmm.simulate("3d", "simulations"),
        "jrnmm observe": jrnmm.observe("3d", "observations"),
        "calibration": jrnmm.observe("3d", "calibration"),
        "jrnmm train": jrnmm.train("3d", 3000, Candidate(0.001, 256)),
        "jrnmm sample": jrnmm.sample("3d", 3000, "samples", "GAUSS", "1-of-1"),
        "jrnmm single": jrnmm.sample("3d", 3000, "single", "GAUSS", "1-of-1"),
        "jrnmm pairs": jrnmm.sample("3d", 3000, "calibration", "GAUSS", "1-of-1"),
        "jrnmm test": jrnmm.test_calibration(8),
        "dirac": jrnmm.dirac(),
    }


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("protocol", ["published", "stated"])
def test_settings_survive_the_params_of_a_rule(scale, protocol):
    for name, settings in jobs(Study(resolved(scale=scale, protocol=protocol))).items():
        assert type(settings).from_params(settings.as_params()) == settings, name


@pytest.mark.parametrize(
    ("keys", "value", "concerned"),
    [
        (("sbibm", "epochs"), 7, {"sbibm train", "guidance train", "partial train"}),
        (("sbibm", "guidance", "drop"), 0.5, {"guidance train"}),
        (("jrnmm", "epochs"), 7, {"jrnmm train"}),
        (("jrnmm", "theta", "C"), 100, {"jrnmm observe", "dirac"}),
        (("fidelity", "jrnmm_sigma"), [1, 2], {"jrnmm simulate", "calibration", "jrnmm train", "jrnmm sample",
                                               "jrnmm single", "jrnmm pairs", "dirac"}),
        (("jrnmm", "lc2st", "cov_samples"), 7, {"jrnmm pairs"}),
        (("toy", "timing", "repeats"), 9, {"toy time"}),
        (("toy", "mala", "retries"), 9, {"toy reference"}),
        (("sbibm", "steps", "grid"), [9], {"steps"}),
        (("metrics", "c2st_backend"), "sbibm", {"measure", "partial measure"}),
        (("sbibm", "reference", "retries"), 9, {"reference", "posteriors", "many observations"}),
        (("sbibm", "posteriors", "samples"), 9, {"posteriors"}),
    ],
)  # fmt: skip
def test_a_value_concerns_the_jobs_that_depend_on_it(keys, value, concerned):
    before, after = jobs(STUDY), jobs(changed(*keys, to=value))
    assert {name for name in before if before[name] != after[name]} == concerned


def with_choice(choice):
    return changed("sbibm", "training", "choice", to=choice)


def test_main_tasks_train_the_grid_and_others_what_may_be_chosen():
    for choice in ("published", "validation"):
        assert len(with_choice(choice).sbibm.candidates("slcp")) == 4
    assert with_choice("published").sbibm.candidates("two_moons") == (Candidate(0.0001, 64),)
    rates = (Candidate(0.0001, 64), Candidate(0.001, 64))
    assert with_choice("validation").sbibm.candidates("two_moons") == rates
    assert STUDY.sbibm.published("lotka_volterra") == Candidate(0.001, 256)
    assert STUDY.sbibm.published("slcp").folder == "bs~256-lr~0.0001"
    assert {candidate.batch_size for candidate in STUDY.jrnmm.candidates("3d")} == {256}


def test_the_rule_of_selection_follows_choice_and_early_stopping():
    for choice, rule in (("published", "published"), ("validation", "stated")):
        study = with_choice(choice)
        assert study.sbibm.select("slcp").rule == study.jrnmm.select("3d").rule == rule
    config = copy.deepcopy(with_choice("published").config)
    config["fidelity"]["early_stopping"] = True
    assert Study(config).jrnmm.select("3d").rule == "stated"


@pytest.mark.parametrize(("choice", "rate"), [("published", 0.0001), ("validation", 0.001)])
def test_a_network_without_rivals_has_a_learning_rate_that_fits_the_budget(choice, rate):
    sbibm = with_choice(choice).sbibm
    for settings in (sbibm.train_guidance("slcp", 2000), sbibm.train_groups("slcp", 2000, "mean", 3)):
        assert (settings.training.learning_rate, settings.training.batch_size) == (rate, 256)


RUNS = [{"scale": scale} for scale in SCALES]
RUNS += [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "docs/runs").glob("*.yaml"))]


@pytest.mark.parametrize("given", RUNS, ids=lambda given: given.get("run", given["scale"]))
def test_only_the_published_budget_has_the_published_choice(given):
    """1e-4 was chosen for 5,000 epochs; with a tenth of them its networks are far from fitted."""
    parts = Study(resolved(**given)).trained.values()
    fewer = min(part.section["epochs"] for part in parts) < 5000
    for part in parts:
        assert part.fits_budget == fewer
        if fewer:
            rates = [candidate.learning_rate for name in part.problems for candidate in part.candidates(name)]
            assert max(rates) >= 0.001


def test_other_bounds_are_the_other_factor():
    for factor, other in ((2.0, 1.0), (1.0, 2.0)):
        sbibm = changed("fidelity", "uniform_bounds_factor", to=factor).sbibm
        plain, changed_bounds = (
            sbibm.sample("slcp", 2000, variant, "JAC", "1-of-1") for variant in ("samples", "other_bounds")
        )
        assert (plain.bounds_factor, changed_bounds.bounds_factor) == (factor, other)


def test_n_of_tables_and_of_steps_are_those_there_are():
    assert STUDY.sbibm.shown_n_obs == [1, 8]  # of the listed 1, 14, 30 only one is in this run: all are shown
    assert changed("sbibm", "n_obs", to=[1, 8, 14]).sbibm.shown_n_obs == [1, 14]
    assert STUDY.sbibm.steps_n_obs == [8]
    assert changed("sbibm", "n_obs", to=[1, 5]).sbibm.steps_n_obs == [5]


def test_steps_are_limited_by_the_part_and_given_by_the_cell_of_a_toy():
    assert STUDY.sbibm.sample("slcp", 2000, "samples", "JAC", "1-of-1").methods.options["JAC"]["steps"] == 50
    assert STUDY.toy.n_obs_of("GAUSS", 150) == [2, 8, 32]
    assert STUDY.toy.n_obs_of("GAUSS", 50) == [32]


@pytest.mark.parametrize("scale", SCALES)
def test_langevin_and_tamed_evaluate_the_score_equally_often(scale):
    methods = resolved(scale=scale)["methods"]
    counts = {methods[name]["steps"] * methods[name]["inner_steps"] for name in ("LANGEVIN", "TAMED")}
    assert len(counts) == 1


def test_partial_networks_are_those_of_real_groups():
    assert STUDY.sbibm.group_networks == ["n_max~3-mean", "n_max~3-deep_set"]
    assert STUDY.sbibm.measure("slcp", 2000, "partial").runs[0] == "n_max~3-mean/GAUSS"


def test_numbers_of_observations_are_split_into_batches():
    jrnmm = changed("jrnmm", "batches", to=2).jrnmm
    assert jrnmm.n_obs_batches == 2
    assert [jrnmm.sample("3d", 9, "samples", "JAC", f"{i}-of-2").n_obs for i in (1, 2)] == [(1,), (8,)]


def test_calibration_draws_have_covariances_without_noise():
    """Fifty samples are too few for the published estimator; the draws at the observations keep it."""
    chosen = {
        kind: STUDY.jrnmm.sample("3d", 9, kind, "GAUSS", "1-of-1").methods.options["GAUSS"]
        for kind in ("samples", "calibration")
    }
    assert chosen["samples"]["covariances"] == "published"
    assert (chosen["calibration"]["covariances"], chosen["calibration"]["cov_steps"]) == ("whitened", 30)
    assert (
        "covariances"
        not in STUDY.jrnmm.sample("3d", 9, "calibration", "JAC", "1-of-1").methods.options["JAC"]
    )


def test_the_stated_protocol_is_the_text():
    """theta and x embedded, F-NPSE's path, the variances of the mixture."""
    stated = Study(resolved(protocol="stated"))
    assert stated.jrnmm.architecture() == {
        "hidden": (256, 256, 256),
        "frequencies": 3,
        "theta_embedding": (64, 64, 64, 32),
        "x_embedding": (64, 64, 64, 32),
    }
    for study, term, stds in ((STUDY, "diffused", (2.25, 1 / 9)), (stated, "annealed", (1.5, 1 / 3))):
        methods = study.toy.selected_methods("LANGEVIN", "GAUSS", "DET_GEF")
        assert methods.algorithm("LANGEVIN").prior_term == term
        assert methods.algorithm("DET_GEF").prior_term == "diffused"
        assert (
            study.sbibm.sampling("sir", {}, n_train=9, kind="sets", names=(), n_obs=[1]).methods.prior_term
            == term
        )
        assert study.sbibm.observe("gmm_uniform", "observations").problem.stds == stds
        assert study.sbibm.reference("gmm").problem.stds == stds
        assert study.sbibm.observe("sir", "observations").problem.stds is None
        assert study.sbibm.train("gmm", 100).problem.stds is None  # depends on the prior alone


@pytest.mark.parametrize(
    ("value", "exclude", "listed"), [(True, True, False), (False, False, False), ("listed", True, True)]
)
def test_sets_are_excluded_by_rule_or_list(value, exclude, listed):
    study = changed("fidelity", "exclude_sets", to=value)
    rows = SETTINGS["tasks"](study, ["slcp"])
    assert (rows.exclude, rows.listed) == (exclude, listed)
    assert SETTINGS["sbibm_tables"](study, ["slcp"]).listed == listed


def test_reading_the_settings_waits_for_no_library():
    """The workflow does so each time it starts."""
    code = "import tallsbi.study.parts.study, tallsbi.study.parts.work"
    assert loaded(code, "torch", "numba", "jax", "pandas", "xarray") == []


def test_extra_tasks_can_have_fewer_sets_and_only_large_n():
    few = changed("sbibm", "extra_max_sets", to=1).sbibm
    assert [few.sample(task, 2000, "samples", "JAC", "1-of-1").sets for task in ("slcp", "gmm")] == [2, 1]
    assert (few.batches, STUDY.sbibm.sets_of("gmm")) == (1, 2)
    large = changed("sbibm", "extra_min_n", to=8).sbibm
    assert [large.measure(task, 2000, "samples").n_obs for task in ("slcp", "gmm")] == [(1, 8), (8,)]
    assert changed("sbibm", "extra_min_n", to=50).sbibm.n_obs_of("gmm") == [8]


def test_tasks_beyond_the_paper_are_trained_and_calibrated_but_not_sampled():
    assert STUDY.sbibm.section["beyond_tasks"] == ["gaussian_2d"]
    assert "gaussian_2d" in STUDY.sbibm.present_tasks(STUDY.sbibm.section["horizon"]["tasks"])
    assert "gaussian_2d" not in {task for task, _ in STUDY.sbibm.measured()}
    assert not any("gaussian_2d" in folder for folder in STUDY.sbibm.sampled)
    none = changed("sbibm", "beyond_tasks", to=[]).sbibm
    assert none.present_tasks(["sir", "gaussian_2d"]) == ["sir"]


def test_some_n_can_have_other_numbers_of_samples():
    some = changed("sbibm", "samples_by_n", to={"8": 7}).sbibm
    settings = some.sample("slcp", 2000, "samples", "JAC", "1-of-1")
    assert [settings.samples_at(n) for n in (1, 8)] == [50, 7]
    assert work.measure(some, "slcp", 2000, "samples") < work.measure(STUDY.sbibm, "slcp", 2000, "samples")
    assert work.sample_of(some, settings) < work.sample_of(
        STUDY.sbibm, STUDY.sbibm.sample("slcp", 2000, "samples", "JAC", "1-of-1")
    )


def test_the_gaussian_with_the_other_prior_can_leave_out_large_dimensions():
    small = changed("toy", "other_prior_max_dim", to=5).toy.dims
    assert (small[STUDY.toy.gaussian], small["gaussian-standard"]) == ([2, 10], [2])
