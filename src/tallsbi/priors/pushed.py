"""Priors that are made of others: one pushed through a transform, and independent ones side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import transforms

from tallsbi.priors.base import Prior, UnsupportedPrior
from tallsbi.priors.gaussian import Gaussian, LatentGaussian

_ELEMENTWISE: Mapping[str, tuple[str, ...]] = {
    "AffineTransform": ("loc", "scale"),
    "ExpTransform": (),
    "PowerTransform": ("exponent",),
    "SigmoidTransform": (),
    "SoftplusTransform": (),
    "TanhTransform": (),
}
"""Transforms of torch that act number by number, with their parameters."""


class _Derived(LatentGaussian):
    """What priors made of others share."""

    def to(self, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None) -> _Derived:
        return self  # maps between the spaces are computed in float64 on the CPU

    def sample(self, count: int, generator: torch.Generator) -> Float[Tensor, "count m"]:
        return super().sample(count, generator).float()


class Transformed(_Derived):
    """The prior of T(v), v from a prior that is Gaussian in its latent space, such as a correlated Gaussian."""

    def __init__(self, base: Prior, transform: transforms.Transform) -> None:
        self.base, self.transform, self.dim = base, _in_float64(transform), base.dim
        self.latent = latent_gaussian(base)
        if not transform.bijective:
            raise UnsupportedPrior(
                f"prior: {_type_names(transform)} cannot be undone, so that theta has no latent value; use a "
                "transform that is one to one."
            )
        value = self.transform(base.to_parameter(self.latent.mean))
        if value.shape != self.latent.mean.shape:
            raise UnsupportedPrior(
                f"prior: {_type_names(transform)} makes {value.shape[-1]} numbers of {self.dim}; a prior needs a "
                "density over the numbers it is about: leave out the one that follows from the others."
            )

    def log_prob(self, theta: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
        theta = theta.double()
        support: Any = self.transform.codomain
        inside = support.check(theta)
        inside = inside if inside.ndim < theta.ndim else inside.all(-1)
        # A value in the support stands in for what is outside: NaN would pass through `where` otherwise.
        safe = torch.where(inside[..., None], theta, self.to_parameter(self.latent.mean)[0])
        value = self.transform.inv(safe)
        change = self.transform.log_abs_det_jacobian(value, safe)
        change = change if change.ndim < theta.ndim else change.sum(-1)
        return torch.where(inside, self.base.log_prob(value) - change, -torch.inf)

    def to_latent(self, theta: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch m"]:
        return self.base.to_latent(self.transform.inv(theta.double())).to(theta.dtype)

    def to_parameter(self, latent: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch m"]:
        return self.transform(self.base.to_parameter(latent.double())).to(latent.dtype)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "Transformed",
            "base": self.base.to_json(),
            "transform": _transform_json(self.transform),
        }


class Blocks(_Derived):
    """Independent priors side by side, each Gaussian in its latent space: a correlated one beside others."""

    def __init__(self, parts: Sequence[Prior]) -> None:
        self.parts = tuple(parts)
        gaussians = [latent_gaussian(part) for part in self.parts]
        self.sizes = [part.dim for part in self.parts]
        self.dim = sum(self.sizes)
        self.latent = Gaussian(
            torch.cat([g.latent_mean()[0] for g in gaussians]),
            torch.block_diag(*[g.covariance()[0] for g in gaussians]),
        )

    def log_prob(self, theta: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
        pieces = theta.double().split(self.sizes, -1)
        return torch.stack([p.log_prob(v) for p, v in zip(self.parts, pieces, strict=True)]).sum(0)

    def to_latent(self, theta: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch m"]:
        pieces = theta.split(self.sizes, -1)
        return torch.cat([p.to_latent(v) for p, v in zip(self.parts, pieces, strict=True)], -1)

    def to_parameter(self, latent: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch m"]:
        pieces = latent.split(self.sizes, -1)
        return torch.cat([p.to_parameter(v) for p, v in zip(self.parts, pieces, strict=True)], -1)

    def _coordinate_laws(self) -> list[str]:
        return [law for p in self.parts for law in p._coordinate_laws() or [type(p).__name__] * p.dim]

    def to_json(self) -> dict[str, Any]:
        return {"kind": "Blocks", "parts": [part.to_json() for part in self.parts]}


def latent_gaussian(prior: Prior) -> Gaussian:
    """The Gaussian a prior is in its latent space, in float64."""
    gaussian = prior if isinstance(prior, Gaussian) else getattr(prior, "latent", None)
    if gaussian is None:
        raise TypeError(f"a {type(prior).__name__} prior is not Gaussian in its latent space.")
    return gaussian.to(dtype=torch.float64)


def _type_names(transform: transforms.Transform) -> str:
    parts = getattr(transform, "parts", None) or [transform]
    return ", ".join(type(part).__name__ for part in parts)


def _in_float64(transform: transforms.Transform) -> transforms.Transform:
    """As a file would give it back, where it has a form there."""
    try:
        return transform_from_json(_transform_json(transform))
    except UnsupportedPrior:
        return transform


def _transform_json(transform: transforms.Transform) -> dict[str, Any]:
    name = type(transform).__name__
    if name in _ELEMENTWISE:
        return {"kind": name, **{key: _plain(getattr(transform, key)) for key in _ELEMENTWISE[name]}}
    if isinstance(transform, transforms.ComposeTransform):
        return {"kind": "ComposeTransform", "parts": [_transform_json(part) for part in transform.parts]}
    if isinstance(transform, transforms.StackTransform) and transform.dim in (-1, 0):
        return {"kind": "StackTransform", "parts": [_transform_json(part) for part in transform.transforms]}
    if isinstance(transform, transforms.CatTransform) and transform.dim in (-1, 0):
        parts = [_transform_json(part) for part in transform.transforms]
        return {"kind": "CatTransform", "parts": parts, "lengths": list(transform.lengths)}
    if name == "_InverseTransform":
        return {"kind": "Inverse", "of": _transform_json(transform.inv)}
    if transform is transforms.identity_transform:
        return {"kind": "ComposeTransform", "parts": []}
    raise UnsupportedPrior(
        f"prior: {name} has no form on disk; use {', '.join(_ELEMENTWISE)}, or StackTransform, CatTransform and "
        "ComposeTransform of these along the last axis."
    )


def transform_from_json(values: Mapping[str, Any]) -> transforms.Transform:
    """The transform of a description; KeyError, TypeError or ValueError for anything else."""
    kind = values["kind"]
    if kind in _ELEMENTWISE:
        parameters = {key: torch.tensor(values[key], dtype=torch.float64) for key in _ELEMENTWISE[kind]}
        return getattr(transforms, kind)(**parameters)
    if kind == "Inverse":
        return transform_from_json(values["of"]).inv
    parts = [transform_from_json(part) for part in values["parts"]]
    if kind == "ComposeTransform":
        return transforms.ComposeTransform(parts)
    if kind == "StackTransform":
        return transforms.StackTransform(parts, dim=-1)
    if kind == "CatTransform":
        return transforms.CatTransform(parts, dim=-1, lengths=values["lengths"])
    raise ValueError(f"there is no transform {kind!r}")


def _plain(value: Any) -> Any:
    return value.detach().double().tolist() if isinstance(value, Tensor) else float(value)
