"""One draw for every calibration pair of a part and every n with one algorithm, plain and clipped."""

from tallsbi.runner.job import start

job = start(snakemake)  # noqa: F821

from functools import partial  # noqa: E402

from tallsbi.algorithms import CLIP_SUFFIX  # noqa: E402
from tallsbi.scores.network_file import read_network  # noqa: E402
from tallsbi.storage.files import read_dataset  # noqa: E402
from tallsbi.study.stages.jrnmm_sampling import calibration_draws  # noqa: E402
from tallsbi.study.stages.parts import part_of  # noqa: E402

paths, n_obs = snakemake.input, job.settings["jrnmm"]["n_obs"]  # noqa: F821
saved = read_network(paths.network)
calibration = part_of(read_dataset(paths.calibration), "pair", snakemake.wildcards.scatteritem)  # noqa: F821
for output, suffix in (("plain", ""), ("clipped", CLIP_SUFFIX)):
    method = snakemake.wildcards.algorithm + suffix  # noqa: F821
    bar = partial(job.progress, label="batches of calibration pairs")
    job.write(calibration_draws(method, saved, calibration, n_obs, job.settings, bar), output)
