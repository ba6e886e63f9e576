"""Chooses among the trained networks of one task and training size."""

from tallsbi.runner.job import start

job = start(snakemake)

import shutil

from tallsbi.storage.files import atomic_path, write_json
from tallsbi.storage.tensors import read_tensors
from tallsbi.training.select import Candidate, select_published, select_stated

task, settings = snakemake.params.task, job.settings
paths = snakemake.input.networks
if settings["rule"] == "published":
    choice = select_published(task, {task: settings["published"]})
else:
    choice = select_stated([Candidate.read(path) for path in paths])
picked = [
    path
    for path, candidate in zip(paths, settings["candidates"], strict=True)
    if all(candidate[key] == choice[key] for key in ("learning_rate", "batch_size"))
]
if len(picked) != 1:
    raise ValueError(
        f"{task}: the choice {choice} is not among the trained networks {settings['candidates']}; add it to "
        "the learning rates and batch sizes that are trained."
    )
read_tensors(picked[0], "np")  # a damaged file is noticed here, where its name is known, and not passed on
write_json(choice, job.output("choice"))
with atomic_path(job.output("network")) as temporary:
    shutil.copyfile(picked[0], temporary)
