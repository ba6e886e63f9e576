"""The certified reference posteriors that come with a checkout of the repository; docs/posteriors.md describes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tallsbi.storage.files import DataError, read_dataset

if TYPE_CHECKING:
    import xarray as xr

RUN = "decisive"
_REPOSITORY = Path(__file__).parents[3]


def load(task: str, run: str = RUN, root: Path | None = None) -> xr.Dataset:
    """Draws of a task's posteriors by set and n, with certificates, observations and true parameters.

    `run` is the name of a folder in `results/`.
    """
    folder = (root or _REPOSITORY) / "results" / run / "posteriors"
    path = folder / f"{task}.nc"
    if not path.is_file():
        tasks = sorted(path.stem for path in folder.glob("*.nc"))
        raise DataError(
            f"no posteriors of {task!r} in {folder}: there are {', '.join(tasks) or 'none'}; `make results "
            f"SCALE={run} ARGS=posteriors` makes them, and an installed package has none."
        )
    return read_dataset(path)
