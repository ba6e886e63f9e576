"""One draw for every calibration pair of a part and every n with one algorithm, plain and clipped."""

from tallsbi.runner.job import start

job = start(snakemake)

from functools import partial

from tallsbi.algorithms import CLIP_SUFFIX
from tallsbi.scores.network_file import read_network
from tallsbi.storage.files import read_dataset
from tallsbi.study.stages.jrnmm_sampling import calibration_draws
from tallsbi.study.stages.parts import part_of

paths, n_obs = snakemake.input, job.settings["jrnmm"]["n_obs"]
saved = read_network(paths.network)
calibration = part_of(read_dataset(paths.calibration), "pair", snakemake.wildcards.scatteritem)
for output, suffix in (("plain", ""), ("clipped", CLIP_SUFFIX)):
    method = snakemake.wildcards.algorithm + suffix
    bar = partial(job.progress, label="batches of calibration pairs")
    job.write(calibration_draws(method, saved, calibration, n_obs, job.settings, bar), output)
