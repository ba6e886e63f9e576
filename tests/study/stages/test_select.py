"""The choice among trained networks: the published one or that of the lowest loss; refused if it is not there."""

import json

import pytest
import torch

from tallsbi.storage.files import DataError
from tallsbi.storage.tensors import write_tensors
from tallsbi.study.settings.select import Candidate, SelectSettings
from tallsbi.study.stages.select import select

CANDIDATES = (Candidate(0.0001, 64), Candidate(0.001, 64))


@pytest.fixture
def networks(tmp_path):
    """Files of two networks, the second with the lower validation loss."""
    paths = [str(tmp_path / f"{i}.safetensors") for i in range(2)]
    for path, candidate, loss in zip(paths, CANDIDATES, (1.0, 0.5), strict=True):
        facts = {"settings": candidate.as_params(), "best_epoch": 3}
        losses = loss + 0.01 * torch.arange(5)
        write_tensors({"validation_losses": losses}, {"training": facts}, path)
    return paths


def settings(rule, published=CANDIDATES[0], candidates=CANDIDATES):
    return SelectSettings("slcp", rule, published, candidates)


@pytest.mark.parametrize(("rule", "chosen"), [("published", 0), ("stated", 1)])
def test_the_chosen_network_is_copied_with_the_reason(networks, tmp_path, rule, chosen):
    network, choice = tmp_path / "network.safetensors", tmp_path / "choice.json"
    select(settings(rule), networks, network, choice)
    with open(networks[chosen], "rb") as original:
        assert network.read_bytes() == original.read()
    written = json.loads(choice.read_text())
    assert written["learning_rate"] == CANDIDATES[chosen].learning_rate
    assert written["rule"] == rule
    assert written["reason"]


def test_a_choice_that_was_not_trained_is_named(networks, tmp_path):
    with pytest.raises(ValueError, match=r"slcp: the choice .*256.* is not among .*add it"):
        select(settings("published", Candidate(0.0001, 256)), networks, tmp_path / "a", tmp_path / "b")


def test_a_damaged_network_is_not_passed_on(networks, tmp_path):
    with open(networks[0], "r+b") as file:
        file.seek(-4, 2)
        file.write(b"oops")
    with pytest.raises(DataError, match=r"0\.safetensors"):
        select(settings("published"), networks, tmp_path / "a.safetensors", tmp_path / "b.json")
    assert not (tmp_path / "a.safetensors").exists()
