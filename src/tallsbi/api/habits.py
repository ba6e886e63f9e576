"""Names of other packages, sbi first, and what they are called here."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

_ATTRIBUTES = {
    "sample_batched": "`sample` takes several datasets at once: sample(x [B, n, d], 1000)",
    "set_default_x": "observations are an argument: sample(x [n, d], 1000)",
    "log_prob": "draws have no density here; `prior.log_prob` is that of the prior, and sbi's probability flow has one "
    "for single observations",
    "potential": "draws have no density here",
    "map": "draws have no density here; take the mean or the median of `sample`",
    "build_posterior": "what `fit` returns is the posterior already: call `sample`",
    "append_simulations": "simulations go into fit: TallPosterior.fit(prior, (theta, x))",
    "train": "TallPosterior.fit(prior, simulator) or fit(prior, (theta, x)) trains",
    "pairplot": "`plot` draws pairs",
}
_OPTIONS = {
    "num_simulations": "simulations",
    "simulation_batch_size": "chunk_size",
    "num_workers": "workers",
    "training_batch_size": "batch_size",
    "max_num_epochs": "epochs",
    "stop_after_epochs": "patience",
    "validation_fraction": "validation_share",
    "hidden_features": "hidden",
    "embedding_net": "embedding",
    "num_samples": "n_samples",
    "show_progress_bars": "progress",
    "show_progress_bar": "progress",
}
"""Keyword arguments."""


def missing(name: str) -> str:
    """The error message for an unknown attribute of a posterior, with what to use."""
    hint = f": {_ATTRIBUTES[name]}" if name in _ATTRIBUTES else ""
    return f"TallPosterior has no {name!r}{hint}."


def check_sample(x_obs: Any, others: dict[str, Any]) -> None:
    """Refuses `sample((1000,), x=x)`, which is `sample(x, 1000)` here."""
    number_first = isinstance(x_obs, int)
    shape_first = isinstance(x_obs, tuple) and len(x_obs) < 3 and all(isinstance(n, int) for n in x_obs)
    if (
        number_first
        or shape_first
        or others.keys() & {"x", "sample_shape", "show_progress_bars", "num_samples"}
    ):
        first = [repr(tuple(x_obs))] if shape_first else [repr(x_obs)] if number_first else []
        given = ", ".join([*first, *(f"{key}=..." for key in others)])
        raise TypeError(
            f"sample({given}): here the observations come first and the number of draws is a number: sample(x, 1000), "
            "x [n, d] for one dataset and [B, n, d] for several; progress=True shows a bar."
        )
    if others:
        raise TypeError(f"sample() got an unexpected keyword argument {next(iter(others))!r}.")
    if x_obs is None:
        raise TypeError("sample() needs the observations: sample(x, 1000), x [n, d] for one dataset.")


def known_options(call: str, function: Callable[..., Any], options: Iterable[str]) -> None:
    """Refuses options that `function` does not take; `call` is its name in the message."""
    known = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    for key in options:
        if key not in known:
            hint = f"it takes {', '.join(known)}"
            if _OPTIONS.get(key) in known:
                hint = f"here it is {_OPTIONS[key]!r}"
            raise TypeError(f"{call}() got an unexpected keyword argument {key!r}; {hint}.")
