"""A network comes back from disk as it was, with equal bytes each time; a damaged file is named."""

import json

import pytest
import torch
from oracles import generator
from safetensors.torch import save_file

from tallsbi.schedule import NETWORK
from tallsbi.scores.network import Architecture, ScoreNetwork
from tallsbi.scores.network_eval import NetworkScore
from tallsbi.scores.network_file import SavedNetwork, read_network, sidecar, write_network
from tallsbi.scores.normaliser import Normaliser
from tallsbi.storage.files import DataError
from tallsbi.storage.tensors import read_tensors, write_tensors
from tallsbi.training.gradient import flatten


def saved(dtype=torch.float32):
    draws = generator(1)
    network = ScoreNetwork(Architecture(2, 3, (8, 8), 4, True, (5,), (6, 4)), draws).to(dtype)
    normaliser = Normaliser.fit(
        torch.randn(20, 2, generator=draws), torch.rand(20, 3, generator=draws), log_x=True
    )
    losses = torch.rand(7, generator=draws, dtype=torch.float64)
    return SavedNetwork(network, normaliser, NETWORK, "slcp", losses, {"epochs": 3, "loss": 0.1})


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_round_trip(tmp_path, dtype):
    before = saved(dtype)
    flatten(before.network)  # as after training: all parameters are views of one vector
    write_network(before, tmp_path / "net.safetensors")
    after = read_network(tmp_path / "net.safetensors")
    theta, x = torch.randn(1, 4, 2, dtype=dtype), torch.randn(1, 3, 3, dtype=dtype)
    assert torch.equal(
        NetworkScore(before.network, before.schedule).bind(x)(theta, 0.3),
        NetworkScore(after.network, after.schedule).bind(x)(theta, 0.3),
    )
    assert after.network.architecture == before.network.architecture
    assert (after.schedule, after.task, after.facts) == (before.schedule, before.task, before.facts)
    assert torch.equal(after.normaliser.x_std, before.normaliser.x_std)
    assert after.normaliser.log_x
    assert torch.equal(after.validation_losses, before.validation_losses)
    assert not any(parameter.requires_grad for parameter in after.network.parameters())


def test_equal_bytes_and_a_readable_description(tmp_path):
    for name in ("a", "b"):
        write_network(saved(), tmp_path / f"{name}.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    description = json.loads(sidecar(tmp_path / "a.safetensors").read_text())
    assert description["task"] == "slcp"
    assert description["architecture"]["hidden"] == [8, 8]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.json", "a.safetensors", "b.json", "b.safetensors",
    ]  # fmt: skip


def test_a_cut_file_is_damaged(tmp_path):
    path = tmp_path / "net.safetensors"
    write_network(saved(), path)
    content = path.read_bytes()
    for length in (0, 5, 100, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(DataError, match=r"net\.safetensors.*delete it and rerun"):
            read_network(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (rb"\"hidden\": [8, 8]", rb"\"hidden\": [8, 9]"),
        (saved().validation_losses.numpy().tobytes()[:8], bytes(range(8))),
    ],
)
def test_a_changed_header_or_number_is_noticed(tmp_path, old, new):
    path = tmp_path / "net.safetensors"
    write_network(saved(), path)
    content = path.read_bytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, new))
    with pytest.raises(DataError, match=r"net\.safetensors is damaged .*has changed.*delete it and rerun"):
        read_network(path)


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        (None, "without the description tallsbi writes"),
        ({"tallsbi": '{"header": {}}'}, "written before files carried checksums"),
    ],
)
def test_a_file_from_elsewhere_is_not_called_damaged(tmp_path, metadata, reason):
    path = tmp_path / "net.safetensors"
    save_file({"weight": torch.ones(2)}, path, metadata=metadata)
    with pytest.raises(DataError, match=rf"net\.safetensors .*{reason}"):
        read_network(path)


def test_weights_of_another_architecture_are_refused(tmp_path):
    path = tmp_path / "net.safetensors"
    write_network(saved(), path)
    tensors, description = read_tensors(path)
    description["architecture"]["hidden"] = [8, 9]
    write_tensors(tensors, description, path)
    with pytest.raises(DataError, match="does not describe a network"):
        read_network(path)


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_network(tmp_path / "none.safetensors")
