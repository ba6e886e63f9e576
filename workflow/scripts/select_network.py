"""Chooses among the trained networks of one task and training size."""

from tallsbi.study.job import start

job = start(snakemake)  # noqa: F821

from tallsbi.scores.network_file import read_network, write_network  # noqa: E402
from tallsbi.study.files import write_json  # noqa: E402
from tallsbi.training.select import Candidate, select_published, select_stated  # noqa: E402

task, settings = snakemake.wildcards.task, job.settings  # noqa: F821
networks = [read_network(path) for path in snakemake.input.networks]  # noqa: F821
if settings["rule"] == "published":
    choice = select_published(task, {task: settings["published"]})
else:
    choice = select_stated([Candidate.of(network) for network in networks])
picked = [
    network
    for network, candidate in zip(networks, settings["candidates"], strict=True)
    if all(candidate[key] == choice[key] for key in ("learning_rate", "batch_size"))
]
if len(picked) != 1:
    raise ValueError(
        f"{task}: the choice {choice} is not among the trained networks {settings['candidates']}; add it to "
        "sbibm.training.learning_rates and sbibm.training.batch_sizes."
    )
write_json(choice, job.output("choice"))
write_network(picked[0], job.output("network"))
