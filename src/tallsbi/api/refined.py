"""What `TallPosterior.refine` gives: a posterior of one dataset, and the report of how it was made."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

import tallsbi
from tallsbi.api import drawing, inputs
from tallsbi.api.local_likelihood import LocalLikelihood, LogProb, Weighted, independent_draws, integrated
from tallsbi.priors.base import Prior, first_few
from tallsbi.priors.description import from_json
from tallsbi.random import torch_generator
from tallsbi.storage.files import DataError
from tallsbi.storage.tensors import read_tensors, write_tensors

if TYPE_CHECKING:
    from tallsbi.api.posterior import TallPosterior

REFINED, WIDENED, KEPT = "refined", "widened", "kept"
FILE, START = "refined.safetensors", "start"
_FORMAT = "tallsbi refined posterior 1"
_DRAWS_PER_SAMPLE = 5  # weighted draws behind every draw that `sample` gives


class NotRefined(UserWarning):
    """`refine` kept the posterior it started from, or could not be trusted without being widened."""


@dataclass(frozen=True)
class RefineReport:
    """How a refinement went.

    `outcome`: "refined"; "widened", where the check found the refined posterior too narrow or off, and its
    intervals were widened by the factor `widening`; or "kept", where `sample` gives the posterior that was there
    before. `z_before` and `z_after`: root mean square of (theta - mean) / sd over `check_datasets` datasets of
    `check_n` observations that were simulated near the posterior and are no part of the fit; 1 is calibrated, above
    is too narrow. `gain`: log density of the true theta of these datasets, refined minus before, per dataset, with
    its standard error. `widths`: of the proposal in each round, in standard deviations of the prior (geometric mean
    over coordinates). `ess`: effective share of the weighted draws.
    """

    outcome: str
    reason: str
    n: int
    simulations: int
    widths: tuple[float, ...] = ()
    ess: float = float("nan")
    check_n: int = 0
    check_datasets: int = 0
    z_before: float = float("nan")
    z_after: float = float("nan")
    gain: float = float("nan")
    gain_error: float = float("nan")
    widening: float = 1.0

    def __str__(self) -> str:
        lines = [
            f"{self.outcome}: {self.reason}",
            f"n = {self.n} observations; {self.simulations:,} simulations in {len(self.widths)} rounds",
        ]
        if self.widths:
            widths = ", ".join(f"{width:.3g}" for width in self.widths)
            lines.append(f"proposals {widths} times as wide as the prior; effective draws {self.ess:.0%}")
        if self.check_datasets:
            lines.append(
                f"check on {self.check_datasets} simulated datasets of {self.check_n} observations: root mean square "
                f"z {self.z_before:.2f} before, {self.z_after:.2f} refined (1 is calibrated); log density of the true "
                f"parameters {self.gain:+.2f} +- {self.gain_error:.2f} per dataset"
            )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, repr=False)
class RefinedPosterior:
    """The posterior of one dataset, whose n observations are `rows`; `start` is the posterior it was made from.

    `likelihood` is None where the refinement was not kept: draws are then those of `start`, with the arguments
    `drawn_with` (`method`, `settings` and `clip`). `summary`: that of the data.
    """

    rows: Float[Tensor, "n k"]
    prior: Prior
    report: RefineReport
    likelihood: LocalLikelihood | None = None
    summary: Float[Tensor, "r"] | None = None
    start: TallPosterior | None = None
    drawn_with: dict[str, Any] = field(default_factory=dict)

    @property
    def theta_dim(self) -> int:
        return self.prior.dim

    def __repr__(self) -> str:
        return (
            f"RefinedPosterior of {self.theta_dim} parameters ({first_few(self.prior.coordinate_names)}) given "
            f"{len(self.rows)} observations, {self.report.outcome}: {self.report.reason}"
        )

    def sample(self, n_samples: Any = 1000, *, seed: int = 0) -> Float[Tensor, "S m"]:
        """Draws [S, m], float64, for the data that `refine` was given."""
        if hasattr(n_samples, "__len__"):
            raise TypeError(
                "sample: a refined posterior is that of the data `refine` was given and takes no others; leave x_obs "
                "out, or call refine for the other data."
            )
        samples = inputs.count(n_samples, "n_samples")
        if self.likelihood is None or self.summary is None:
            if self.start is None:
                raise ValueError(
                    "start = None: a posterior that was not refined needs the one it started from."
                )
            arguments = {"method": inputs.METHOD, "settings": None, "clip": 3.0} | self.drawn_with
            algorithm, method = inputs.algorithm(**arguments), arguments["method"]
            return drawing.draw(self.start.engine, algorithm, method, self.rows[None], samples, seed, None)[0]
        generator = torch_generator(seed, "api", "refined", "draws")
        target = local_target(self.likelihood, self.summary, len(self.rows), latent_prior(self.prior))
        size = max(4000, _DRAWS_PER_SAMPLE * samples)
        weighted = localised(self.likelihood, target, len(self.rows), generator, size)
        return self.prior.to_parameter(independent_draws(target, weighted, samples, generator))

    def save(self, folder: str | Path) -> None:
        """Writes all it takes to draw again: the local likelihood, or the posterior that was kept."""
        folder = Path(folder)
        tensors = {"rows": self.rows}
        header: dict[str, Any] = {
            "format": _FORMAT,
            "version": tallsbi.__version__,
            "prior": self.prior.to_json(),
            "report": {
                name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self.report).items()
            },
        }
        if self.likelihood is not None and self.summary is not None:
            parts = vars(self.likelihood)
            tensors |= {"summary": self.summary} | {k: v for k, v in parts.items() if isinstance(v, Tensor)}
            header["numbers"] = {k: v for k, v in parts.items() if not isinstance(v, Tensor)}
        elif self.start is not None:
            self.start.save(folder / START)
            header["drawn_with"] = self.drawn_with
        header["report"] = {k: None if v != v else v for k, v in header["report"].items()}  # JSON has no NaN
        folder.mkdir(parents=True, exist_ok=True)
        write_tensors(tensors, header, folder / FILE)

    @classmethod
    def load(cls, folder: str | Path) -> RefinedPosterior:
        """Reads what `save` wrote; it then gives the same draws."""
        from tallsbi.api.posterior import TallPosterior

        folder = Path(folder)
        if not (folder / FILE).is_file():
            raise FileNotFoundError(
                f"{folder} is not a saved refined posterior: it has no {FILE}; give the folder that `save` wrote."
            )
        tensors, header = read_tensors(folder / FILE)
        if not isinstance(header, dict) or header.get("format") != _FORMAT:
            raise DataError(f"{folder / FILE} is not in the format {_FORMAT!r}; save the posterior again.")
        values: dict[str, Any] = {k: float("nan") if v is None else v for k, v in header["report"].items()}
        report = RefineReport(**values | {"widths": tuple(values["widths"])})
        rows, prior = tensors.pop("rows"), from_json(header["prior"])
        if "numbers" not in header:
            start = TallPosterior.load(folder / START) if (folder / START).is_dir() else None
            return cls(rows, prior, report, start=start, drawn_with=header.get("drawn_with", {}))
        summary = tensors.pop("summary")
        return cls(rows, prior, report, LocalLikelihood(**tensors, **header["numbers"]), summary)


def latent_prior(prior: Prior) -> Prior:
    """The prior in the space where it is Gaussian or uniform, in float64."""
    zero = torch.zeros(prior.dim, dtype=torch.float64)
    return prior.to(dtype=torch.float64).normalised(zero, zero + 1)


def local_target(likelihood: LocalLikelihood, summary: Float[Tensor, "k"], n: int, prior: Prior) -> LogProb:
    """The log posterior in latent space, up to a constant; `prior` is the latent one."""
    return lambda theta: likelihood.log_prob(theta, summary, n) + prior.log_prob(theta)


def localised(
    likelihood: LocalLikelihood, target: LogProb, n: int, generator: torch.Generator, size: int = 4000
) -> Weighted:
    """The local posterior as weighted draws, in latent space."""
    covariance = likelihood.scale @ likelihood.scale.mT / n**0.5
    return integrated(target, likelihood.centre, covariance, generator, size)
