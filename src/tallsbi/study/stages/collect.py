"""Tidy tables over all problems: what the figures and tables are drawn from.

A collector takes the inputs of its rule, lists of paths by name, and its settings; it returns the table of each
output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from tallsbi.storage.files import read_csv, read_dataset, read_json
from tallsbi.study.references.tidy import certificate_table
from tallsbi.study.settings.collect import CollectSettings
from tallsbi.study.stages.ragged import at

if TYPE_CHECKING:
    import xarray as xr

Paths = Mapping[str, Sequence[str]]
NO_ENCODER = "none"  # of n_max = 1, where a group is its only member
SHOWN_SET = 0  # the parameter set of the pair plots
MARGINAL_DRAWS = 2000  # as many of a posterior as a density estimate can show


def collect(paths: Paths, settings: CollectSettings) -> list[pd.DataFrame]:
    """The tables of a rule's outputs, in their order."""
    if settings.collector not in COLLECTORS:
        raise ValueError(
            f"collector = {settings.collector!r}: there is no such collector; choose one of {', '.join(COLLECTORS)}."
        )
    return COLLECTORS[settings.collector](paths, settings)


def stacked(paths: Paths, settings: CollectSettings) -> list[pd.DataFrame]:
    """Tables of the same columns below each other."""
    return [pd.concat([read_csv(path) for path in paths["tables"]], ignore_index=True)]


def losses(paths: Paths, settings: CollectSettings) -> list[pd.DataFrame]:
    """Loss curves below each other; `chosen` marks those of the networks that sample."""
    cells = dict.fromkeys((training.task, training.n_train) for training in settings.trainings)
    choices = {cell: read_json(path) for cell, path in zip(cells, paths["choices"], strict=True)}
    frames = []
    for training, path in zip(settings.trainings, paths["curves"], strict=True):
        key, choice = training.candidate.as_params(), choices[training.task, training.n_train]
        frame = read_csv(path).assign(task=training.task, n_train=training.n_train, **key)
        frames.append(frame.assign(chosen=all(choice[name] == value for name, value in key.items())))
    return [pd.concat(frames, ignore_index=True)]


def pairs(paths: Paths, settings: CollectSettings) -> list[pd.DataFrame]:
    """Draws for one parameter set, of the references and of GAUSS, a row per draw and parameter; and the truth."""
    samples = {run.attrs["task"]: run for run in map(read_dataset, paths["samples"])}
    frames = []
    for reference in map(read_dataset, paths["references"]):
        task, n = reference.attrs["task"], int(reference.attrs["n"])
        for source, dataset in (("reference", reference), ("GAUSS", at(samples[task], n))):
            frames.append(
                _long(dataset["theta"].sel(set=SHOWN_SET), task=task, n=n, source=source, set=SHOWN_SET)
            )
    observed = [read_dataset(path) for path in paths["observations"]]
    truth = [_long(data["theta"].sel(set=SHOWN_SET), task=data.attrs["task"]) for data in observed]
    return [pd.concat(frames, ignore_index=True), pd.concat(truth, ignore_index=True)]


def certificates(paths: Paths, settings: CollectSettings) -> list[pd.DataFrame]:
    """Every reference's certificate, a row per task, n and set."""
    references = map(read_dataset, paths["references"])
    return [certificate_table((data.attrs["task"], int(data.attrs["n"]), data) for data in references)]


def partial(paths: Paths, settings: CollectSettings) -> list[pd.DataFrame]:
    """Distances for every n_max below each other; `plain` has those of the ordinary networks, n_max = 1."""
    plain = [
        frame[frame.method.isin(settings.methods) & (frame.n == settings.n)].assign(
            n_max=1, encoder=NO_ENCODER
        )
        for frame in map(read_csv, paths.get("plain", []))
    ]
    return [pd.concat([*plain, *map(read_csv, paths.get("groups", []))], ignore_index=True)]


def marginals(paths: Paths, settings: CollectSettings) -> list[pd.DataFrame]:
    """Draws given n observations (`tall`) and given each alone (`single`), a row per draw and parameter."""
    frames = []
    for kind in ("tall", "single"):
        for run in map(read_dataset, paths[kind]):
            frame = _long(
                run["theta"].isel(sample=slice(MARGINAL_DRAWS)), dim=run.sizes["parameter"], kind=kind
            )
            frame = frame.rename(columns={"sample": "draw", "set": "observation"})
            frames.append(frame.assign(observation=-1) if kind == "tall" else frame)
    return [pd.concat(frames, ignore_index=True)]


def _long(theta: xr.DataArray, **columns: str | int) -> pd.DataFrame:
    """A row per value, with the dimensions and `columns` beside it."""
    scalars = [name for name in theta.coords if name not in theta.dims]
    return theta.drop_vars(scalars).to_series().rename("value").reset_index().assign(**columns)


COLLECTORS: dict[str, Callable[[Paths, CollectSettings], list[pd.DataFrame]]] = {
    collector.__name__: collector for collector in (stacked, losses, pairs, certificates, partial, marginals)
}
