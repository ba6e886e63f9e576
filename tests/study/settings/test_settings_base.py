"""Settings survive the way through Snakemake's params, and wrong ones are refused with key, value and remedy."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from tallsbi.study.settings.base import Settings, SettingsError


@dataclass(frozen=True)
class Box(Settings):
    low: float
    high: float


@dataclass(frozen=True)
class Example(Settings):
    samples: int
    n_obs: tuple[int, ...]
    box: Box
    bounds: dict[str, tuple[float, float]]
    label: str | None
    clip: bool

    def __post_init__(self) -> None:
        self.require("samples", self.samples >= 1, "at least 1")


EXAMPLE = Example(5, (1, 8), Box(0, 1.5), {"C": (10, 250)}, None, True)


def changed(**values):
    return Example.from_params({**EXAMPLE.as_params(), **values})


def test_there_and_back_through_json():
    params = EXAMPLE.as_params()
    assert params["n_obs"] == [1, 8]
    assert params["box"] == {"low": 0, "high": 1.5}
    assert Example.from_params(json.loads(json.dumps(params))) == EXAMPLE


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"sample": 3}, ["Example.sample = 3", "no such setting", "samples", "params"]),
        ({"samples": 0}, ["Example.samples = 0", "at least 1"]),
        ({"samples": True}, ["Example.samples = True", "expected int"]),
        ({"samples": 2.5}, ["Example.samples = 2.5", "expected int"]),
        ({"n_obs": 8}, ["Example.n_obs = 8", "tuple[int, ...]"]),
        ({"n_obs": [1, "8"]}, ["Example.n_obs[1] = '8'", "expected int"]),
        ({"bounds": {"C": [1, 2, 3]}}, ["Example.bounds.C = [1, 2, 3]", "tuple[float, float]"]),
        ({"box": {"low": 0}}, ["Box", "no value for high"]),
        ({"box": {"low": "a", "high": 1}}, ["Box.low = 'a'", "expected float"]),
        ({"label": 4}, ["Example.label = 4", "expected str"]),
    ],
)
def test_what_is_wrong_is_named(values, words):
    with pytest.raises(SettingsError) as error:
        changed(**values)
    assert all(word in str(error.value) for word in words), error.value


def test_a_missing_setting_is_named():
    with pytest.raises(SettingsError, match="no value for clip"):
        Example.from_params({key: value for key, value in EXAMPLE.as_params().items() if key != "clip"})
