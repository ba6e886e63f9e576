"""`python -m benchmarks.peers exact`: side by side with sbi's methods for several observations.

A Gaussian model with a known tall posterior: theta ~ N(0, I), x | theta ~ N(theta, 0.5 ((1 - rho) I + rho 11')) with
rho = 0.8. There are three networks to compare on: `exact`, an estimator of sbi with the exact score, so that only
the errors of the methods are left; `sbi`, trained by sbi (NPSE, VP); `tallsbi`, trained by `TallPosterior.fit` on the
same simulations. The first two are sampled by sbi's methods and, through `TallPosterior.from_sbi`, by ours.

Every method may evaluate the score `budget` times per draw and observation, a Jacobian counting m more; GAUSS_PD runs
with its defaults, which are fewer. Draws are whitened by the exact posterior, so that errors are in its standard
deviations. Times are CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.peers.nle import quietly
from tallsbi import TallPosterior
from tallsbi.metrics.c2st import c2st
from tallsbi.metrics.sliced import sliced_wasserstein
from tallsbi.priors.gaussian import Gaussian, tall_posterior

M, RHO = 2, 0.8
NOISE = 0.5 * ((1 - RHO) * torch.eye(M) + RHO * torch.ones(M, M))
# A draw this many posterior standard deviations off is counted as a stray and left out of the other columns.
STRAY = 20.0
MIN_DRAWS = 50  # a dataset with fewer draws left does not count in the other columns
COLUMNS = ["network", "method", "evaluations", "strays", "mean off by", "spread", "sW", "C2ST", "CPU s"]


@dataclass(frozen=True)
class Contestant:
    """A way to draw: `evaluations` of the score per draw and observation."""

    network: str
    method: str
    evaluations: str
    draw: Callable[[Tensor, int], Tensor]


def simulator(theta: Tensor) -> Tensor:
    return theta + torch.randn_like(theta) @ torch.linalg.cholesky(NOISE).mT


def exact_estimator() -> Any:
    """An estimator of sbi that gives the exact score of the single-observation posteriors."""
    from sbi.neural_nets.estimators.score_estimator import VPScoreEstimator

    class Exact(VPScoreEstimator):
        def forward(self, input: Tensor, condition: Tensor, time: Tensor) -> Tensor:
            cov = torch.linalg.inv(torch.eye(M) + torch.linalg.inv(NOISE))
            mean = condition @ torch.linalg.inv(NOISE) @ cov
            mu, s = self.mean_t_fn(time), self.std_fn(time)
            first = (..., *[0] * (mu.ndim - 1), slice(None))  # one time for all rows
            diffused = torch.linalg.inv(mu[first] ** 2 * cov + s[first] ** 2 * torch.eye(M))
            return (mu * mean - input) @ diffused

    return Exact(torch.nn.Linear(1, 1), torch.Size([M]), torch.Size([M]))


def sbi_methods(posterior: Any, network: str, budget: int) -> Iterator[Contestant]:
    """sbi's four methods, and the corrector it recommends for the first."""

    def drawing(method: str, steps: int, **more: Any) -> Callable[[Tensor, int], Tensor]:
        def draw(x: Tensor, samples: int) -> Tensor:
            return posterior.sample(
                (samples,), x=x, iid_method=method, steps=steps, show_progress_bars=False, **more
            )

        return draw

    jacobian = budget // (1 + M)
    yield Contestant(network, "sbi fnpe", f"{budget}", drawing("fnpe", budget))
    corrected = drawing("fnpe", budget // 5, corrector="langevin", corrector_params={"num_steps": 4})
    yield Contestant(network, "sbi fnpe, langevin corrector", f"{budget // 5} x 5", corrected)
    yield Contestant(network, "sbi gauss", f"{budget}", drawing("gauss", budget))
    yield Contestant(network, "sbi auto_gauss", f"{budget} + 100", drawing("auto_gauss", budget))
    yield Contestant(network, "sbi jac_gauss", f"{jacobian} x {1 + M}", drawing("jac_gauss", jacobian))


def our_methods(posterior: TallPosterior, network: str, budget: int) -> Iterator[Contestant]:
    def drawing(method: str, settings: dict[str, Any]) -> Callable[[Tensor, int], Tensor]:
        return lambda x, samples: posterior.sample(x, samples, method, settings=settings).float()

    langevin, jacobian = budget // 5, budget // (1 + M)
    yield Contestant(network, "LANGEVIN", f"{langevin} x 5", drawing("LANGEVIN", {"steps": langevin}))
    yield Contestant(network, "GAUSS", f"{budget - 100} + 100", drawing("GAUSS", {"steps": budget - 100}))
    yield Contestant(network, "JAC", f"{jacobian} x {1 + M}", drawing("JAC", {"steps": jacobian}))
    yield Contestant(network, "GAUSS_PD", "50 + 30", drawing("GAUSS_PD", {}))


def exact(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean [m] and a factor of the covariance [m, m]."""
    mean, cov = tall_posterior(Gaussian.standard(M, torch.float64), NOISE.double(), x[None].double())
    return mean[0], torch.linalg.cholesky(cov[0])


def whitened(theta: Tensor, x: Tensor) -> np.ndarray:
    """Draws that are N(0, I) if they are from the tall posterior."""
    mean, factor = exact(x)
    return torch.linalg.solve_triangular(factor, (theta.double() - mean).mT, upper=False).mT.numpy()


def measure(
    contestants: list[Contestant], datasets: list[Tensor], samples: int, say: Callable[[str], None]
) -> list[list[str]]:
    """A row per contestant, averaged over the datasets, and last the same for exact draws."""
    rng = np.random.default_rng(0)
    reference = [rng.standard_normal((samples, M)) for _ in datasets]
    rows = []
    for contestant in contestants:
        draws, start = [], time.process_time()
        for number, x in enumerate(datasets):
            torch.manual_seed(number)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                draws.append(contestant.draw(x, samples))
        seconds = (time.process_time() - start) / len(datasets)
        white = [whitened(theta, x) for theta, x in zip(draws, datasets, strict=True)]
        names = [contestant.network, contestant.method, contestant.evaluations]
        rows.append([*names, *_errors(white, reference), f"{seconds:.2f}"])
        say("  ".join(rows[-1]))
    exact_draws = [rng.standard_normal((samples, M)) for _ in datasets]
    rows.append(["", "exact draws", "", *_errors(exact_draws, reference), ""])
    return rows


def _errors(drawn: list[np.ndarray], reference: list[np.ndarray]) -> list[str]:
    # Not `>`: a draw that is not a number is a stray too.
    white = [w[np.linalg.norm(w, axis=1) <= STRAY] for w in drawn]
    strays = 1 - sum(map(len, white)) / sum(map(len, drawn))
    pairs = [(w, r) for w, r in zip(white, reference, strict=True) if len(w) >= MIN_DRAWS]
    if not pairs:
        return [f"{strays:.1%}", "", "", "", ""]
    white = [w for w, _ in pairs]
    off = np.sqrt(np.mean([np.square(w.mean(0)) for w in white]))
    spread = np.mean([w.std(0) for w in white])
    sliced = np.mean([sliced_wasserstein(w, r, 200, 0)[0] for w, r in pairs])
    accuracy = c2st(pairs, seed=1).mean()
    return [f"{strays:.1%}", f"{off:.2f}", f"{spread:.2f}", f"{sliced:.2f}", f"{accuracy:.2f}"]


def markdown(rows: list[list[str]]) -> str:
    lines = [COLUMNS, ["---"] * len(COLUMNS), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers exact", description=__doc__)
    parser.add_argument("--simulations", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=200, help="of sbi's training and of ours, at most")
    parser.add_argument("--observations", type=int, default=30, help="n")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--budget", type=int, default=500, help="evaluations of the score per draw")
    parser.add_argument("--datasets", type=int, default=1)
    kinds = ["exact", "sbi", "tallsbi"]
    parser.add_argument("--networks", nargs="+", choices=kinds, default=["exact"], help="(default: exact)")
    options = parser.parse_args(arguments)
    from sbi.inference import NPSE
    from sbi.inference.posteriors import VectorFieldPosterior

    torch.set_num_threads(1)
    torch.manual_seed(0)
    prior = torch.distributions.MultivariateNormal(torch.zeros(M), torch.eye(M))
    theta = prior.sample((options.simulations,))
    x = simulator(theta)
    truths = prior.sample((options.datasets,))
    datasets = [simulator(truth.expand(options.observations, M)) for truth in truths]

    contestants: list[Contestant] = []
    for network in options.networks:
        start = time.process_time()
        if network == "tallsbi":
            ours = TallPosterior.fit(prior, (theta, x), epochs=options.epochs)
            contestants += our_methods(ours, network, options.budget)
        else:
            if network == "exact":
                estimator = exact_estimator()
            else:
                limit = {"max_num_epochs": options.epochs}
                estimator = quietly(NPSE, prior, theta, x, limit, sde_type="vp")
            theirs = VectorFieldPosterior(estimator, prior)
            contestants += sbi_methods(theirs, network, options.budget)
            contestants += our_methods(TallPosterior.from_sbi(estimator, prior), network, options.budget)
        print(f"{network}: {time.process_time() - start:.0f} CPU s to train", flush=True)
    rows = measure(contestants, datasets, options.samples, lambda text: print(text, flush=True))
    print(markdown(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
