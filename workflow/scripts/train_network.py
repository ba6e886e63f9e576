"""Trains one score network; resumes from its checkpoints after an interruption."""

from tallsbi.study.job import start

job = start(snakemake)  # noqa: F821

import shutil  # noqa: E402
from functools import partial  # noqa: E402
from pathlib import Path  # noqa: E402

import torch  # noqa: E402

from tallsbi.schedule import BENCHMARK  # noqa: E402
from tallsbi.scores.network_file import write_network  # noqa: E402
from tallsbi.study.files import read_dataset  # noqa: E402
from tallsbi.study.seeds import integer_seed  # noqa: E402
from tallsbi.tasks import load  # noqa: E402
from tallsbi.training.loop import train  # noqa: E402
from tallsbi.training.settings import TrainingSettings  # noqa: E402

wildcards = snakemake.wildcards  # noqa: F821
task, n_train = load(wildcards.task), int(wildcards.n_train)
data = read_dataset(snakemake.input[0]).isel(simulation=slice(n_train))  # noqa: F821
settings = {key: value for key, value in job.settings.items() if key not in ("seed", "device")}
device = job.settings["device"]
checkpoints = Path(snakemake.params.checkpoints)  # noqa: F821
trained = train(
    task.prior.to_latent(torch.from_numpy(data["theta"].values)).to(device),
    torch.from_numpy(data["x"].values).to(device),
    TrainingSettings.from_json(settings),
    BENCHMARK,
    seed=integer_seed(job.seed, "sbibm", wildcards.task, n_train, "training"),
    log_x=task.log_x,
    checkpoint_dir=checkpoints,
    progress=partial(job.progress, label="epochs"),
)
job.write(trained.losses.assign(stop_epoch=trained.facts["best_epoch"]), "losses")
write_network(trained.saved(wildcards.task), job.output("network"))
shutil.rmtree(checkpoints, ignore_errors=True)  # the finished network makes them useless
