"""Quantiles of other packages' distributions: torch's, scipy's, and any object with `cdf` and `icdf` (or `ppf`).

Where an object has no inverse of its distribution function, as torch's Gamma and mixtures, it is found by bisection.
Beta, Student's t and Fisher's F, which in torch have neither, get the incomplete beta function below.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch import distributions as td

from tallsbi.priors.base import UnsupportedPrior
from tallsbi.priors.quantiles import Quantiles, knots

_BISECTIONS = 64  # halve an interval of 1400 to the last digit
_LARGEST_EXPONENT = 700.0  # of the smallest and the largest number that bisection looks at
_LARGEST_MISMATCH = 1e-3  # how far cdf(icdf(u)) may be from u
_CHECKED_DEVIATIONS = 2.5  # within which float32, in which simulators get theta, must resolve it
_MAX_TERMS = 500  # terms of the continued fraction; about sqrt(max(a, b)) are needed


def tabulated(distribution: Any) -> list[Quantiles]:
    """One table per coordinate of a distribution of one number, or of a batch [m] of them."""
    label, (cdf, icdf) = _label(distribution), _functions(distribution)
    if cdf is None and icdf is None:
        raise UnsupportedPrior(
            f"prior: {label} has no distribution function (cdf) that tallsbi knows; give a distribution of one "
            "continuous number of torch or scipy.stats, or any object with `cdf` and `icdf`."
        )
    probability = torch.special.ndtr(knots())
    bounds = _bounds(distribution, icdf)
    if icdf is None:
        assert cdf is not None
        theta = _bisected(cdf, probability, *bounds)
    else:
        theta = _columns(icdf, probability, label)
        if cdf is not None:
            _require_inverse(cdf, theta, probability, label)
    low, high = (bound.expand(theta.shape[1]).tolist() for bound in bounds)
    labels = [label if theta.shape[1] == 1 else f"{label}[{i}]" for i in range(theta.shape[1])]
    tables = [Quantiles.of(labels[i], low[i], high[i], theta[:, i]) for i in range(theta.shape[1])]
    for table in tables:
        _require_resolution(table)
    return tables


def betainc(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """The regularised incomplete beta function I_x(a, b), float64: the distribution function of Beta(a, b)."""
    a, b, x = torch.broadcast_tensors(a.double(), b.double(), x.double())
    x = x.clamp(0, 1)
    swap = x > (a + 1) / (a + b + 2)  # the fraction converges on the other side
    p, q, y = torch.where(swap, b, a), torch.where(swap, a, b), torch.where(swap, 1 - x, x)
    tiny = torch.full_like(y, 1e-300)
    c, d = torch.ones_like(y), 1 - (p + q) * y / (p + 1)
    d = 1 / torch.where(d == 0, tiny, d)
    fraction = d
    for k in range(1, _MAX_TERMS):
        even = k * (q - k) * y / ((p + 2 * k - 1) * (p + 2 * k))
        odd = -(p + k) * (p + q + k) * y / ((p + 2 * k) * (p + 2 * k + 1))
        for term in (even, odd):
            d, c = 1 + term * d, 1 + term / c
            d, c = 1 / torch.where(d == 0, tiny, d), torch.where(c == 0, tiny, c)
            fraction = fraction * (d * c)
        if bool((d * c - 1).abs().max() < 1e-15):
            break
    front = (
        p * y.log() + q * torch.log1p(-y) - p.log() + torch.lgamma(p + q) - torch.lgamma(p) - torch.lgamma(q)
    )
    value = torch.where(y == 0, 0.0, front.exp() * fraction)
    return torch.where(swap, 1 - value, value)


Function = Callable[[Tensor], Any]


def _functions(distribution: Any) -> tuple[Function | None, Function | None]:
    """cdf and icdf, of values [K, 1] or [K, m] in float64; None for one that does not exist."""
    if isinstance(distribution, td.Distribution):
        exact = _in_float64(distribution)
        special: Any = {td.Beta: _beta_cdf, td.StudentT: _student_cdf, td.FisherSnedecor: _fisher_cdf}.get(
            type(exact)
        )
        if special is not None:
            return (lambda theta: special(exact, theta)), None
        trial = torch.full((1, 1), 0.5, dtype=torch.float64)
        functions = (exact.cdf, exact.icdf)
        usable = [_works(function, trial) for function in functions]
        return functions[0] if usable[0] else None, functions[1] if usable[1] else None
    icdf = getattr(distribution, "ppf", None) or getattr(distribution, "icdf", None)
    cdf = getattr(distribution, "cdf", None)
    return (cdf if callable(cdf) else None), (icdf if callable(icdf) else None)


def _works(function: Function, value: Tensor) -> bool:
    try:
        function(value)
    except (NotImplementedError, AttributeError):
        return False
    return True


def _in_float64(distribution: td.Distribution) -> td.Distribution:
    """The same with parameters in float64, and without the check of arguments: bisection tries any value."""
    parameters = {
        name: getattr(distribution, name)
        for name in distribution.arg_constraints
        if name in vars(distribution) or isinstance(getattr(type(distribution), name, None), property)
    }
    try:
        converted = {k: v.double() if isinstance(v, Tensor) else v for k, v in parameters.items()}
        return type(distribution)(**converted, validate_args=False)  # type: ignore[arg-type]
    except (TypeError, ValueError, NotImplementedError):
        return distribution


def _beta_cdf(beta: td.Beta, theta: Tensor) -> Tensor:
    return betainc(beta.concentration1, beta.concentration0, theta)


def _student_cdf(student: td.StudentT, theta: Tensor) -> Tensor:
    t = (theta - student.loc) / student.scale
    tail = 0.5 * betainc(student.df / 2, torch.tensor(0.5), student.df / (student.df + t.square()))
    return torch.where(t < 0, tail, 1 - tail)


def _fisher_cdf(fisher: td.FisherSnedecor, theta: Tensor) -> Tensor:
    ratio = fisher.df1 * theta.clamp_min(0)
    return betainc(fisher.df1 / 2, fisher.df2 / 2, ratio / (ratio + fisher.df2))


def _called(function: Function, values: Float[Tensor, "K k"], label: str) -> Float[Tensor, "K m"]:
    """A function of torch or numpy at every value, as float64."""
    try:
        result = function(values)
    except Exception:  # an object of another library: it may take numpy arrays only
        try:
            result = function(values.numpy())  # type: ignore[arg-type]
        except Exception as error:
            raise UnsupportedPrior(
                f"prior: `cdf` or `icdf` of {label} failed ({type(error).__name__}: {error}); they take an array and "
                "nothing else: give a distribution with its parameters, such as scipy.stats.gamma(2.0)."
            ) from error
    result = result.detach() if isinstance(result, Tensor) else result
    array = np.asarray(result, dtype=np.float64)
    if array.ndim != 2 or len(array) != len(values):
        raise UnsupportedPrior(
            f"prior: {label} answers values of shape {tuple(values.shape)} with shape {array.shape}; its `cdf` and "
            "`icdf` must work on arrays, entry by entry, and a prior is over one vector, shape [m]."
        )
    return torch.from_numpy(array.copy())


def _columns(function: Function, values: Float[Tensor, "K"], label: str) -> Float[Tensor, "K m"]:
    with np.errstate(all="ignore"):
        return _called(function, values[:, None], label)


def _bounds(distribution: Any, icdf: Function | None) -> tuple[Tensor, Tensor]:
    """Ends of the support, [1] or [m] each, infinite where there is none."""
    if isinstance(distribution, td.Distribution):
        support: Any = distribution.support
        support = getattr(support, "base_constraint", support)  # of a mixture
        low, high = (getattr(support, name, side) for name, side in _ENDS)
        return tuple(torch.as_tensor(b).double().reshape(-1) for b in (low, high))  # type: ignore[return-value]
    if icdf is None:  # bisection finds quantiles on the whole line
        return tuple(torch.tensor([side], dtype=torch.float64) for _, side in _ENDS)  # type: ignore[return-value]
    ends = []
    for probability, (_, side) in zip((0.0, 1.0), _ENDS, strict=True):
        try:
            end = _columns(icdf, torch.tensor([probability], dtype=torch.float64), "icdf")[0]
        except Exception:  # not defined there: no bound is known
            end = torch.tensor([side], dtype=torch.float64)
        ends.append(torch.where(end.isfinite(), end, side))
    return ends[0], ends[1]


_ENDS = (("lower_bound", -math.inf), ("upper_bound", math.inf))


def _bisected(
    cdf: Function, probability: Float[Tensor, "K"], low: Tensor, high: Tensor
) -> Float[Tensor, "K m"]:
    """The inverse of a distribution function, between its bounds and to the last digits on any scale."""

    def theta(seen: Tensor) -> Tensor:
        between = low + (high - low) * torch.sigmoid(seen)
        one_sided = torch.where(low.isfinite(), low + seen.exp(), high - (-seen).exp())
        line = torch.where(low.isfinite() | high.isfinite(), one_sided, torch.sinh(seen))
        return torch.where(low.isfinite() & high.isfinite(), between, line)

    width = _called(cdf, theta(torch.zeros(2, len(low), dtype=torch.float64)), "cdf").shape[1]
    left = torch.full((len(probability), width), -_LARGEST_EXPONENT, dtype=torch.float64)
    right = -left
    for _ in range(_BISECTIONS):
        middle = 0.5 * (left + right)
        above = _called(cdf, theta(middle), "cdf") > probability[:, None]
        left, right = torch.where(above, left, middle), torch.where(above, middle, right)
    middle = 0.5 * (left + right)
    return theta(torch.where(middle.abs() > _LARGEST_EXPONENT - 1, middle.sign() * torch.inf, middle))


def _require_inverse(cdf: Function, theta: Tensor, probability: Tensor, label: str) -> None:
    inner = (probability > 0.001) & (probability < 0.999)
    back = _called(cdf, theta[inner], label)
    mismatch = (back - probability[inner, None]).abs().nan_to_num(1.0)
    if float(mismatch.max()) > _LARGEST_MISMATCH:
        row, column = divmod(int(mismatch.argmax()), mismatch.shape[1])
        raise UnsupportedPrior(
            f"prior: `cdf` and `icdf` of {label} are not inverse to each other: at probability "
            f"{float(probability[inner][row]):.4g} the quantile is {float(theta[inner][row, column]):.4g}, whose cdf "
            f"is {float(back[row, column]):.4g}; a coordinate must be a continuous random number."
        )


def _require_resolution(table: Quantiles) -> None:
    z = torch.linspace(-_CHECKED_DEVIATIONS, _CHECKED_DEVIATIONS, 101, dtype=torch.float64)
    theta = table.to_parameter(z).float()
    if bool(((table.to_latent(theta) - z).abs() > 0.05).any()):
        raise UnsupportedPrior(
            f"prior: {table.label} crowds so close to a bound or so far out that float32, in which simulators get "
            f"theta, cannot hold it (its 1 to 99 per cent are {theta[9]:.3g} to {theta[-10]:.3g}); infer a "
            "transform of it, such as its logarithm, with the prior of that."
        )


def _label(distribution: Any) -> str:
    kind = getattr(distribution, "dist", None)  # scipy keeps the family apart from the frozen parameters
    if kind is not None and hasattr(kind, "name"):
        arguments = [str(value) for value in getattr(distribution, "args", ())]
        arguments += [f"{key}={value}" for key, value in getattr(distribution, "kwds", {}).items()]
        return f"scipy.stats.{kind.name}({', '.join(arguments)})"
    name = type(distribution).__name__
    if not isinstance(distribution, td.Distribution):
        return name
    values = {key: vars(distribution).get(key) for key in distribution.arg_constraints}
    shown = [f"{k}={v.item():g}" for k, v in values.items() if isinstance(v, Tensor) and v.numel() == 1]
    return f"{name}({', '.join(shown)})"
