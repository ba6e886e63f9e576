"""The declaration of tables and figures: what exists, from which data, and what a wrong entry says."""

import shutil
from importlib import import_module
from inspect import signature

import pandas as pd
import pytest
import yaml
from config_files import resolved
from paths import ROOT

from tallsbi.runner.fingerprint import closure
from tallsbi.study import artifacts
from tallsbi.study.artifacts import ArtifactError
from tallsbi.study.claims.files import FOLDER
from tallsbi.study.columns.catalogue import module_of
from tallsbi.study.columns.tidy import ColumnsError
from tallsbi.study.make_artifact import make, read
from tallsbi.study.parts.study import Study
from tallsbi.study.settings.base import SettingsError


def study(**changes):
    """The study under the default configuration, with the values of some keys changed."""
    values = resolved()
    for key, value in changes.items():
        *parents, last = key.split("__")
        block = values
        for parent in parents:
            block = block[parent]
        block[last] = value
    return Study(values)


def declared(**changes):
    return artifacts.read(ROOT, study(**changes)).artifacts


@pytest.fixture
def copy(tmp_path):
    """A repository with the declaration and the claims only, and a function to change one entry."""
    shutil.copytree(ROOT / FOLDER, tmp_path / FOLDER)

    def change(name, **keys):
        content = yaml.safe_load((ROOT / artifacts.DECLARATION).read_text(encoding="utf-8"))
        entry = {**content["artifacts"].get(name, {}), **keys}
        content["artifacts"][name] = {key: value for key, value in entry.items() if value is not None}
        path = tmp_path / artifacts.DECLARATION
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
        return tmp_path

    return change


@pytest.mark.parametrize("artifact", declared().values(), ids=lambda artifact: artifact.id)
def test_every_function_exists_and_takes_its_arguments_and_settings(artifact):
    function = getattr(import_module(artifact.module), artifact.function.rpartition(".")[2])
    signature(function).bind({}, artifact.settings, **artifact.arguments)
    kind = type(artifact.settings)
    assert kind.from_params(artifact.settings.as_params()) == artifact.settings
    assert all(module_of(path) or path.startswith("workflow/resources/") for path in artifact.data.values())


def test_paths_are_those_of_the_run():
    artifact = declared(run="trial")["toy_speedup"]
    assert artifact.data["timing"] == "results/trial/toy/timing.csv"
    assert artifact.data["paper"] == "workflow/resources/toy_speedup.csv"
    assert artifact.outputs == tuple(
        f"results/trial/tables/toy_speedup.{suffix}" for suffix in ("csv", "md", "tex")
    )


def test_tables_exist_for_every_main_task():
    tables = {"sbibm_sir", "sbibm_slcp", "sbibm_lotka_volterra"}
    assert tables <= declared().keys()
    some = declared(sbibm__tasks=["sir"])
    assert tables & some.keys() == {"sbibm_sir"}
    assert some["sbibm_sir"].title == "SIR: distances to the reference posterior"
    assert some["sbibm_sir"].arguments == {"task": "sir"}


@pytest.mark.parametrize(
    ("changes", "lost"),
    [
        ({"sbibm__extra_tasks": []}, {f"sbibm_extra_{metric}_vs_ntrain" for metric in ("sw", "mmd", "c2st")}),
        ({"sbibm__training__batch_sizes": [256]}, {"sbibm_losses_bs64"}),
        ({"sbibm__steps__tasks": ["not run"]}, {"steps_vs_accuracy"}),
        ({"sbibm__many__tasks": []}, {"many_observations"}),
    ],
)
def test_what_the_configuration_has_nothing_for_is_not_made(changes, lost):
    every, some = set(declared()), set(declared(**changes))
    assert every - some == lost
    assert some <= every


def test_optional_data_are_there_or_not(tmp_path, copy):
    assert "other_bounds" in declared()["claims"].data
    assert "other_bounds" not in declared(sbibm__bounds_tasks=[])["claims"].data
    root = copy("claims")
    path = root / "results/smoke-stated/tables/claims.csv"
    assert "other" not in artifacts.read(root, study()).artifacts["claims"].data
    path.parent.mkdir(parents=True)
    path.write_text("id\n")
    claims = artifacts.read(root, study()).artifacts["claims"]
    assert claims.data["other"] == "results/smoke-stated/tables/claims.csv"
    assert claims.if_present == {"other"}
    assert "other" not in artifacts.read(root, study(run="trial")).artifacts["claims"].data


def test_targets_follow_the_data():
    targets = {artifact.id: artifact.target for artifact in declared().values()}
    assert targets["toy_prior_width"] == targets["pedagogical"] == targets["det_gef_toy"] == "toy"
    assert targets["steps_vs_accuracy"] == targets["reference_certificates"] == targets["cfg_sw"] == "sbibm"
    assert {name for name, target in targets.items() if target == "jrnmm"} == {
        "jrnmm_3d",
        "jrnmm_4d",
        "jrnmm_lc2st_3d",
        "jrnmm_lc2st_4d",
        "jrnmm_losses",
    }
    assert {name for name, target in targets.items() if target == "all"} == {
        "claims",
        "cost",
        "printed_cells",
    }


def test_what_is_made_from_times_is_timed():
    times = {"toy/timing.csv", "sbibm/steps.csv", "sbibm/many.csv", "costs.csv"}
    for artifact in declared().values():
        data = {path.removeprefix("results/smoke/") for path in artifact.data.values()}
        assert artifact.timed == bool(data & times), artifact.id
    assert "figures/steps_vs_accuracy.*" in artifacts.timed_outputs(ROOT)
    assert "tables/claims.*" in artifacts.timed_outputs(ROOT)


def test_an_argument_changes_the_params_of_its_artifact_only(copy):
    before = artifacts.read(copy("cost"), study()).artifacts
    after = artifacts.read(copy("cfg_sw", arguments={"metric": "c2st"}), study()).artifacts
    changed = {name for name in before if before[name].params != after[name].params}
    assert changed == {"cfg_sw"}


def test_code_of_a_figure_is_that_of_its_module_and_of_the_columns_of_its_data():
    figures = [artifact for artifact in declared().values() if artifact.kind == "figures"]
    reached = {
        figure.id: closure("workflow/scripts/draw_figure.py", *figure.code, root=ROOT) for figure in figures
    }

    def users(module):
        return {name for name, modules in reached.items() if f"tallsbi.study.{module}" in modules}

    assert users("figures.partial") == {"pf_npse"}
    assert users("figures.toy_prior_width") == {"toy_prior_width"}
    assert users("figures.guidance") == {"cfg_sw", "cfg_mmd", "cfg_c2st"}
    assert users("figures.losses") == {"sbibm_losses_bs64", "sbibm_losses_bs256", "jrnmm_losses"}
    assert users("figures.panels") == set(reached) - {"pedagogical", "sbibm_pairplots"}
    assert users("columns.toy") == {figure.id for figure in figures if figure.target == "toy"}
    assert users("columns.jrnmm") == {figure.id for figure in figures if figure.target == "jrnmm"}
    assert users("artifacts") == users("parts") == set()


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("colour", "red", r"cfg_sw: colour = 'red': there is no such key; use one of arguments, cells, data"),
        ("title", None, r"cfg_sw: title = None: every table and figure needs it"),
        ("part", "bench", r"cfg_sw: part = 'bench': choose one of toy, sbibm, jrnmm, beyond"),
        ("settings", "mine", r"cfg_sw: settings = 'mine': choose one of toy_figures"),
        ("function", "guidance.draw", r"write figures.<module>.<function>"),
    ],
)
def test_a_wrong_entry_is_refused_by_name(copy, key, value, message):
    with pytest.raises(ArtifactError, match=message):
        artifacts.read(copy("cfg_sw", **{key: value}), study())


def test_two_artifacts_of_one_name_are_refused(copy):
    root = copy("sbibm_{dim}", for_each={"dim": "sbibm.tasks"}, **_entry("cost"))
    with pytest.raises(ArtifactError, match="two artifacts sbibm_slcp; rename one"):
        artifacts.read(root, study())


def _entry(name):
    content = yaml.safe_load((ROOT / artifacts.DECLARATION).read_text(encoding="utf-8"))
    return content["artifacts"][name]


def test_settings_and_columns_are_checked_before_a_function_is_called(tmp_path):
    table = declared()["cost"]
    path = tmp_path / "costs.csv"
    columns = ["stage", "jobs", "core_hours", "share", "longest_h", "peak_mib", "run"]
    pd.DataFrame([["draw", 1, 0.1, 1.0, 0.1, 10.0, "measured"]], columns=columns).to_csv(path, index=False)
    made = make(table.function, [("costs", str(path))], table.params)
    assert "smoke" in made.note
    figure = declared()["toy_prior_width"]
    with pytest.raises(SettingsError, match=r"ToyFigures.prior = 'narrow': it must be wide or standard"):
        make(
            figure.function,
            [],
            {"settings": {**figure.params["settings"], "prior": "narrow"}, "arguments": {}},
        )
    pd.read_csv(path).rename(columns={"jobs": "work"}).to_csv(path, index=False)
    with pytest.raises(ColumnsError, match="unknown column work"):
        read(str(path))
