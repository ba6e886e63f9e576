"""Runs in the environment of BayesFlow, not in ours: `train FOLDER` and `draw FOLDER SAMPLES [damped]`.

Its workflow for compositional inference with its defaults: a diffusion model, 100 epochs; for n observations
mini-batches of a tenth of them, predictions clipped at three standard deviations, the prior's score in closed form.
"damped": the summed score falls off to 1 / n of itself where the noise is strongest, its remedy for large n.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import bayesflow
import keras
import numpy as np

BATCH, EPOCHS = 128, 100


def train(folder: Path) -> None:
    kept = np.load(folder / "pairs.npz")
    keras.utils.set_random_seed(0)
    workflow = bayesflow.CompositionalWorkflow(
        inference_network=bayesflow.networks.DiffusionModel(),
        inference_variables="theta",
        inference_conditions="x",
        standardize="all",
    )
    workflow.fit_offline({"theta": kept["theta"], "x": kept["x"]}, EPOCHS, BATCH, verbose=0)
    workflow.approximator.save(folder / "approximator.keras")


def draw(folder: Path, samples: int, damped: bool) -> None:
    approximator = keras.saving.load_model(folder / "approximator.keras")
    kept = np.load(folder / "data.npz")
    x, mean, precision = kept["x"], kept["mean"], kept["precision"]

    def prior_score(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"theta": -(np.asarray(values["theta"]) - mean) @ precision}

    draws = []
    for number, rows in enumerate(x):
        keras.utils.set_random_seed(number)
        if len(rows) == 1:
            drawn = approximator.sample(num_samples=samples, conditions={"x": rows})
        else:
            bridge = {"compositional_bridge_d1": 1 / len(rows)} if damped else {}
            drawn = approximator.compositional_sample(
                num_samples=samples, conditions={"x": rows[None]}, compute_prior_score=prior_score, **bridge
            )
        draws.append(np.asarray(drawn["theta"])[0])
    np.savez(folder / "draws.npz", theta=np.stack(draws))


def main(words: list[str]) -> None:
    start = time.process_time()
    if words[0] == "train":
        train(Path(words[1]))
    elif words[0] == "draw":
        draw(Path(words[1]), int(words[2]), "damped" in words[3:])
    elif words[0] != "check":
        raise SystemExit(f"{words[0]!r}: there are check, train and draw.")
    if words[0] != "check":
        (Path(words[1]) / "seconds.txt").write_text(str(time.process_time() - start))


if __name__ == "__main__":
    main(sys.argv[1:])
