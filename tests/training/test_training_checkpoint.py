"""A training killed anywhere ends with the bytes of one that was not; foreign and damaged states are ignored."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
from problems import SHORT_TRAINING, LinearGaussian

from tallsbi.schedule import NETWORK, TOY
from tallsbi.scores.network_file import write_network
from tallsbi.training import checkpoint, loop
from tallsbi.training.adam import Adam
from tallsbi.training.checkpoint import FILE, State

HELPERS = Path(__file__).resolve().parents[1] / "helpers"


class Killed(Exception):
    pass


def run(folder=None, settings=SHORT_TRAINING, seed=3, data_seed=0, schedule=NETWORK, seconds=0.0):
    theta, x = LinearGaussian().simulate(200, data_seed)
    return loop.train(
        theta, x, settings, schedule, seed=seed, checkpoint_dir=folder, checkpoint_seconds=seconds
    )


def content(trained, folder):
    path = folder / "result.safetensors"
    write_network(trained.saved("toy"), path)
    return path.read_bytes()


def kill_at_step(monkeypatch, step):
    """Raises in the middle of an epoch: in the optimiser's given step, counted over the whole run."""
    original, calls = Adam.step, iter(range(10**6))

    def stepped(self, *arguments):
        if next(calls) == step:
            raise Killed
        return original(self, *arguments)

    monkeypatch.setattr(Adam, "step", stepped)


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("steps", [[0], [2], [5, 8], [12, 7], [34]])
def test_resumed_training_ends_with_the_same_bytes(tmp_path, monkeypatch, steps, early_stopping):
    """160 rows in batches of 32: five steps per epoch, 35 in all. Killed once or twice."""
    settings = replace(SHORT_TRAINING, early_stopping=early_stopping)
    whole = run(settings=settings)
    for step in steps:
        with monkeypatch.context() as patch:
            kill_at_step(patch, step)
            with pytest.raises(Killed):
                run(tmp_path / "state", settings)
    resumed = run(tmp_path / "state", settings)
    assert content(resumed, tmp_path / "a") == content(whole, tmp_path / "b")
    pd.testing.assert_frame_equal(resumed.losses, whole.losses, check_exact=True)
    assert resumed.facts == whole.facts


def test_a_finished_training_is_not_done_again(tmp_path, monkeypatch):
    whole = run(tmp_path / "state")
    kill_at_step(monkeypatch, 0)
    assert content(run(tmp_path / "state"), tmp_path) == content(whole, tmp_path / "b")


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import torch
torch.set_num_threads(1)
from dataclasses import replace
from problems import SHORT_TRAINING, LinearGaussian
from tallsbi.schedule import NETWORK
from tallsbi.training.loop import train
theta, x = LinearGaussian().simulate(200, 0)
print("ready", flush=True)
train(theta, x, replace(SHORT_TRAINING, epochs=int(sys.argv[3])), NETWORK, seed=3,
      checkpoint_dir=Path(sys.argv[1]), checkpoint_seconds=0.0)
"""


def test_sigkill(tmp_path):
    settings = replace(SHORT_TRAINING, epochs=120)
    folder = tmp_path / "state"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder), str(HELPERS), str(settings.epochs)], env=environment
    )
    try:
        deadline = time.monotonic() + 90
        while not (folder / FILE).exists() and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert process.returncode == -signal.SIGKILL
    resumed = run(folder, settings)
    assert content(resumed, tmp_path / "a") == content(run(settings=settings), tmp_path / "b")


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 4},
        {"data_seed": 1},
        {"schedule": TOY},
        {"settings": replace(SHORT_TRAINING, learning_rate=1e-3)},
        {"settings": replace(SHORT_TRAINING, epochs=8)},
        {"settings": replace(SHORT_TRAINING, layer_norm=True)},
    ],
)
def test_a_checkpoint_of_another_training_is_ignored(tmp_path, caplog, other):
    run(tmp_path / "state", **other)
    trained = run(tmp_path / "state")
    assert "other settings or data" in caplog.text
    assert content(trained, tmp_path) == content(run(), tmp_path / "b")


def damage_cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def damage_bit(path):
    data = bytearray(path.read_bytes())
    data[-1000] ^= 1
    path.write_bytes(data)


def damage_header(path):
    data = path.read_bytes()
    assert rb"\"epoch\": 7" in data
    path.write_bytes(data.replace(rb"\"epoch\": 7", rb"\"epoch\": 6"))


def damage_empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [damage_cut, damage_bit, damage_header, damage_empty])
def test_a_damaged_checkpoint_is_ignored(tmp_path, caplog, damage):
    whole = run(tmp_path / "state")
    damage(tmp_path / "state" / FILE)
    assert content(run(tmp_path / "state"), tmp_path) == content(whole, tmp_path / "b")
    assert "starting anew" in caplog.text


def test_a_full_disk_costs_the_checkpoint_only(tmp_path, caplog, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "write_tensors", full)
    trained = run(tmp_path / "state")
    assert "No space left" in caplog.text
    assert trained.facts["epochs"] == SHORT_TRAINING.epochs


def test_checkpoints_are_as_rare_as_asked(tmp_path):
    run(tmp_path / "state", seconds=1e6)
    assert not (tmp_path / "state").exists()


def test_discard_removes_it(tmp_path):
    folder = tmp_path / "state"
    checkpoint.save(folder, "name", State({"a": torch.ones(2)}, {"epoch": 1}))
    assert checkpoint.load(folder, "name") is not None
    checkpoint.discard(folder)
    checkpoint.discard(folder)
    assert list(tmp_path.iterdir()) == []
