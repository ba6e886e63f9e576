"""A job sets up its process and writes its products with provenance."""

import dataclasses
import hashlib
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import xarray as xr
from fresh_python import environment

from tallsbi.runner import job, logs
from tallsbi.storage import files


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for variable in (*job.THREAD_VARIABLES, "NUMBA_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")
    handler = signal.getsignal(signal.SIGTERM)
    levels = {name: logging.getLogger(name).level for name in (None, "tallsbi")}
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else None
    yield
    logs.reset()
    signal.signal(signal.SIGTERM, handler)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    if torch:
        torch.set_num_threads(threads)


def namespace(tmp_path, **changes):
    values = {
        "rule": "toy_samples",
        "log": [str(tmp_path / "logs" / "a.log")],
        "threads": 2,
        "output": [str(tmp_path / "out" / "a.nc"), str(tmp_path / "out" / "b.csv")],
        "params": SimpleNamespace(code="abc123", config={"seed": 7, "steps": 50}, versions={"numpy": "1"}),
        "config": {"seed": 99},
    }
    return SimpleNamespace(**{**values, **changes})


def test_start_collects_what_the_rule_passes(tmp_path):
    started = job.start(namespace(tmp_path))
    assert started.rule == "toy_samples"
    assert started.seed == 7
    assert started.settings == {"seed": 7, "steps": 50}
    assert started.code == "abc123"
    assert started.threads == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        started.code = "x"
    text = (tmp_path / "logs" / "a.log").read_text()
    assert "abc123" in text
    assert "toy_samples" in text


def test_dataset_is_written_with_provenance(tmp_path):
    started = job.start(namespace(tmp_path))
    started.write(xr.Dataset({"a": ("x", [1.0, 2.0])}, attrs={"title": "t"}))
    attributes = files.read_dataset(tmp_path / "out" / "a.nc").attrs
    assert attributes == {"title": "t", **started.provenance()}
    assert attributes["code_fingerprint"] == "abc123"
    assert attributes["study_seed"] == "7"
    assert json.loads(attributes["package_versions"]).keys() == {"numpy"}


def test_table_is_written_with_a_sidecar(tmp_path):
    started = job.start(namespace(tmp_path))
    frame = pd.DataFrame({"b": [0.1], "a": ["x"]})
    started.write(frame, output=1)
    pd.testing.assert_frame_equal(files.read_csv(tmp_path / "out" / "b.csv"), frame)
    checksum = hashlib.sha256((tmp_path / "out" / "b.csv").read_bytes()).hexdigest()
    record = files.read_json(tmp_path / "out" / "b.csv.meta.json")
    assert record == {**started.provenance(), "sha256": checksum}


def test_table_that_lost_its_last_lines_is_noticed(tmp_path):
    job.start(namespace(tmp_path)).write(pd.DataFrame({"a": [1, 2, 3]}), output=1)
    path = tmp_path / "out" / "b.csv"
    path.write_text("a\n1\n2\n")
    with pytest.raises(files.DataError, match=r"b\.csv is damaged .*delete it and rerun"):
        files.read_csv(path)


def test_table_never_appears_without_its_sidecar(tmp_path, monkeypatch):
    started = job.start(namespace(tmp_path))

    def full(value, path):
        raise OSError("No space left on device")

    monkeypatch.setattr("tallsbi.runner.provenance.write_json", full)
    with pytest.raises(OSError, match="No space left"):
        started.write(pd.DataFrame({"a": [1]}), output=1)
    assert not (tmp_path / "out" / "b.csv").exists()


def test_text_is_written_with_a_sidecar(tmp_path):
    started = job.start(namespace(tmp_path, output=str(tmp_path / "t.tex")))
    started.write("\\begin{tabular}\n")
    assert (tmp_path / "t.tex").read_text() == "\\begin{tabular}\n"
    assert (tmp_path / "t.tex.meta.json").exists()


def test_figure_is_written_with_provenance(tmp_path):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    figure.add_subplot().plot([0, 1])
    started = job.start(
        namespace(tmp_path, output={"pdf": str(tmp_path / "f.pdf"), "png": str(tmp_path / "f.png")})
    )
    started.write(figure, output="pdf")
    started.write(figure, output="png")
    assert b"abc123" in (tmp_path / "f.pdf").read_bytes()
    assert b"abc123" in (tmp_path / "f.png").read_bytes()
    assert sorted(path.name for path in tmp_path.glob("*f.*")) == ["f.pdf", "f.png"]


def test_other_products_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"toy_samples.*list.*a\.nc"):
        job.start(namespace(tmp_path)).write([1, 2])


@pytest.mark.parametrize(
    ("output", "key"),
    [
        ("x.nc", 0),
        (Path("x.nc"), 0),
        (["y.nc", "x.nc"], 1),
        ({"a": "y.nc", "b": "x.nc"}, "b"),
        ({"a": "y.nc", "b": "x.nc"}, 1),
        (SimpleNamespace(a="x.nc"), "a"),
        (SimpleNamespace(a="x.nc"), 0),
    ],
)
def test_outputs_by_position_and_name(tmp_path, output, key):
    assert job.start(namespace(tmp_path, output=output)).output(key) == Path("x.nc")


@pytest.mark.parametrize("key", [2, "table"])
def test_undeclared_output_is_named(tmp_path, key):
    with pytest.raises(job.JobError, match=f"toy_samples declares no output {key!r}"):
        job.start(namespace(tmp_path)).output(key)


@pytest.mark.parametrize("name", ["code", "config", "versions"])
def test_missing_param_is_named(tmp_path, name):
    given = namespace(tmp_path)
    delattr(given.params, name)
    with pytest.raises(job.JobError, match=f"toy_samples has no `{name}`"):
        job.start(given)


def test_seed_must_be_among_the_settings(tmp_path):
    started = job.start(namespace(tmp_path, params=SimpleNamespace(code="c", config={}, versions={})))
    with pytest.raises(job.JobError, match=r"toy_samples.*seed"):
        _ = started.seed
    assert started.provenance()["study_seed"] == "none"


def test_stream_is_recorded(tmp_path):
    record = job.start(namespace(tmp_path)).provenance("toy", "JAC", 3)
    assert json.loads(record["random_stream"]) == ["toy", "JAC", 3]


@pytest.mark.parametrize("log", [None, [], ""])
def test_works_without_a_log_file(tmp_path, log):
    started = job.start(namespace(tmp_path, log=log))
    assert started.log_path is None
    assert list(started.progress([1, 2], label="x")) == [1, 2]


def test_loaded_torch_gets_the_threads(tmp_path):
    torch = pytest.importorskip("torch")
    job.start(namespace(tmp_path, threads=1))
    assert torch.get_num_threads() == 1
    job.start(namespace(tmp_path, threads=2))
    assert torch.get_num_threads() == 2
    assert os.environ["OMP_NUM_THREADS"] == "2"


def test_jax_works_alone_on_one_thread_and_keeps_other_flags(tmp_path, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=x")
    job.start(namespace(tmp_path, threads=1))
    job.start(namespace(tmp_path, threads=1))
    assert os.environ["XLA_FLAGS"] == "--xla_dump_to=x --xla_cpu_multi_thread_eigen=false"
    job.start(namespace(tmp_path, threads=2))
    assert os.environ["XLA_FLAGS"] == "--xla_dump_to=x"
    assert os.environ["NPROC"] == "2"


def test_numerical_libraries_are_not_imported_before_the_threads_are_set():
    code = (
        "import sys\nfrom types import SimpleNamespace as N\nfrom tallsbi.runner.job import start\n"
        "params = N(code='c', config={}, versions={'numpy': '1'})\n"
        "start(N(rule='r', log=None, threads=3, output=[], params=params))\n"
        "import os\n"
        "print([m for m in ('numpy', 'torch', 'pandas', 'xarray', 'numba', 'tqdm') if m in sys.modules])\n"
        "print([os.environ[v + '_NUM_THREADS'] for v in ('OMP', 'MKL', 'OPENBLAS', 'NUMBA')])\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.splitlines() == ["[]", "['3', '3', '3', '3']"]


def test_stopped_job_cleans_up_and_says_so(tmp_path):
    code = (
        "import sys, time\nfrom types import SimpleNamespace as N\n"
        "from tallsbi.storage.files import atomic_path\nfrom tallsbi.runner.job import start\n"
        "params = N(code='c', config={}, versions={})\n"
        "start(N(rule='r', log=sys.argv[1], threads=1, output=[], params=params))\n"
        "with atomic_path(sys.argv[2]) as path:\n    path.write_text('half')\n    time.sleep(60)\n"
    )
    log, out = tmp_path / "a.log", tmp_path / "out"
    out.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(log), str(out / "x.txt")],
        env=environment(),
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 20
    while not list(out.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list(out.iterdir())
    process.terminate()
    assert process.wait(timeout=20) == 128 + signal.SIGTERM
    assert list(out.iterdir()) == []
    assert "stopped by signal 15" in log.read_text()


def test_snakemakes_own_containers(tmp_path):
    """The lists Snakemake passes to scripts, after the pickling they go through on the way."""
    containers = pytest.importorskip("snakemake.iocontainers")
    params = {"code": "abc", "config": {"seed": 1, "grid": [1, 2]}, "versions": {"numpy": "1"}}
    given = namespace(
        tmp_path,
        params=containers.Params(fromdict=params),
        output=containers.OutputFiles(fromdict={"table": str(tmp_path / "t.csv"), "rest": "r.nc"}),
        log=containers.Log([str(tmp_path / "s.log")]),
    )
    started = job.start(pickle.loads(pickle.dumps(given)))
    assert started.settings == {"seed": 1, "grid": [1, 2]}
    assert started.output() == started.output("table") == tmp_path / "t.csv"
    assert started.output("rest") == Path("r.nc")
    assert started.log_path == tmp_path / "s.log"
    with pytest.raises(job.JobError, match="no output"):
        started.output("absent")
