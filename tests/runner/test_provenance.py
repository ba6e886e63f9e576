"""Provenance says where an output comes from, in the output, without anything that changes between runs."""

import json
import platform
import socket

import pytest
import xarray as xr

from tallsbi.runner import provenance
from tallsbi.storage.files import read_dataset, write_dataset

CONFIG = {"steps": 50, "noise": [0, 0.01], "method": {"name": "JAC"}}


def make(**changes):
    arguments = {"seed": 2026, "config": CONFIG, "code": "abc123", "packages": ["numpy", "h5py"]}
    return provenance.record(**{**arguments, **changes})


def test_record_holds_what_decides_the_result():
    record = make(stream=("toy", "JAC", 3))
    assert all(isinstance(value, str) for value in record.values())
    assert record["study_seed"] == "2026"
    assert record["code_fingerprint"] == "abc123"
    assert record["python_version"] == platform.python_version()
    assert json.loads(record["settings"]) == CONFIG
    assert json.loads(record["random_stream"]) == ["toy", "JAC", 3]
    assert set(json.loads(record["package_versions"])) == {"numpy", "h5py"}


def test_record_does_not_depend_on_the_order_of_settings_or_packages():
    shuffled = dict(reversed(CONFIG.items()))
    assert make(config=shuffled, packages=["h5py", "numpy"]) == make()


def test_record_has_no_time_host_or_user():
    assert make().keys() == {
        "tallsbi_version",
        "python_version",
        "package_versions",
        "code_fingerprint",
        "settings",
        "study_seed",
        "random_stream",
    }
    assert socket.gethostname() not in json.dumps(make())


def test_job_without_randomness():
    assert make(seed=None)["study_seed"] == "none"


def test_versions_of_installed_and_absent_packages():
    import numpy as np

    assert provenance.versions(["numpy", "no-such-package"]) == {
        "no-such-package": "not installed",
        "numpy": np.__version__,
    }


def test_attached_record_survives_the_file(tmp_path):
    dataset = xr.Dataset({"a": ("x", [1.0])}, attrs={"title": "t"})
    write_dataset(provenance.attach(dataset, make()), tmp_path / "d.nc")
    assert read_dataset(tmp_path / "d.nc").attrs == {"title": "t", **make()}
    assert dataset.attrs == {"title": "t"}


def test_sidecar_lies_next_to_the_table(tmp_path):
    path = provenance.write_sidecar(tmp_path / "t.csv", make())
    assert path == tmp_path / "t.csv.meta.json" == provenance.sidecar_path(tmp_path / "t.csv")
    assert json.loads(path.read_text()) == make()


@pytest.mark.parametrize("fmt", ["pdf", "png"])
def test_figures_have_equal_bytes_and_hold_the_record(tmp_path, fmt, monkeypatch):
    figure_module = pytest.importorskip("matplotlib.figure")

    def draw(path, time):
        # matplotlib takes the date of a figure from here, if it takes one.
        monkeypatch.setenv("SOURCE_DATE_EPOCH", time)
        figure = figure_module.Figure()
        axes = figure.add_subplot()
        axes.plot([0, 1], [1, 0])
        axes.set_title("title")
        figure.savefig(path, metadata=provenance.figure_metadata(make(), fmt))
        return path.read_bytes()

    first = draw(tmp_path / f"a.{fmt}", "0")
    assert draw(tmp_path / f"b.{fmt}", "1000000000") == first
    assert b"abc123" in first


def test_unknown_figure_format_is_named():
    with pytest.raises(ValueError, match=r"'jpg'.*use pdf"):
        provenance.figure_metadata(make(), "jpg")
