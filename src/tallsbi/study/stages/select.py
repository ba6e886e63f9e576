"""Chooses the network that samples among those that were trained on the same data."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tallsbi.storage.files import atomic_path, write_json
from tallsbi.storage.tensors import read_tensors
from tallsbi.study.settings.select import SelectSettings
from tallsbi.training.select import Candidate, select_published, select_stated


def choose(settings: SelectSettings, networks: Sequence[str]) -> tuple[dict[str, Any], str]:
    """The choice with its reason, and the file of the network; `networks` are the files of the candidates."""
    if settings.rule == "published":
        choice = select_published(settings.name, **settings.published.as_params())
    else:
        choice = select_stated([Candidate.read(path) for path in networks])
    chosen = [
        path
        for path, candidate in zip(networks, settings.candidates, strict=True)
        if all(choice[key] == value for key, value in candidate.as_params().items())
    ]
    if len(chosen) != 1:
        raise ValueError(
            f"{settings.name}: the choice {choice} is not among the trained networks "
            f"{[candidate.as_params() for candidate in settings.candidates]}; add it to the learning rates and batch "
            "sizes that are trained."
        )
    return choice, chosen[0]


def select(settings: SelectSettings, networks: Sequence[str], network: Path, choice: Path) -> None:
    """Writes the chosen network and the reason of the choice."""
    reasons, chosen = choose(settings, networks)
    read_tensors(chosen, "np")  # a damaged file is noticed here, where its name is known, and not passed on
    write_json(reasons, choice)
    with atomic_path(network) as temporary:
        shutil.copyfile(chosen, temporary)
