"""The network's tall score and its Jacobian, at the size of SLCP: S = 1000, n = 30, m = 5, d = 8.

The reference of the score is the bare matrix product of its two hidden layers, which no evaluation in single
precision can avoid; a plain vmap over samples and observations is shown for comparison. The Jacobian is
compared with the score and may cost m + 1.5 of it.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from benchmarks.report import Row, cpu_times
from tallsbi.schedule import NETWORK
from tallsbi.scores.network import Architecture, ScoreNetwork
from tallsbi.scores.network_eval import NetworkScore

SAMPLES, OBSERVATIONS, M, D, HIDDEN, BLOCK = 1000, 30, 5, 8, 256, 600
# The Jacobian of this many samples takes about as long as the score of M + 1 times as many.
JACOBIAN_SAMPLES = 20


def hidden_products(draws: torch.Generator) -> Callable[[], None]:
    """The products of the two hidden layers for all samples and observations."""
    first, second = (torch.randn(HIDDEN, HIDDEN, generator=draws) / 16 for _ in range(2))
    block, between, after = (torch.randn(BLOCK, HIDDEN, generator=draws) for _ in range(3))

    def products() -> None:
        for _ in range(SAMPLES * OBSERVATIONS // BLOCK):
            torch.mm(block, first, out=between)
            torch.mm(between, second, out=after)

    return products


def run(rounds: int) -> list[Row]:
    draws = torch.Generator().manual_seed(0)
    network = ScoreNetwork(Architecture(M, D), draws)
    theta = torch.randn(1, SAMPLES, M, generator=draws)
    x = torch.randn(1, OBSERVATIONS, D, generator=draws)
    bound = NetworkScore(network, NETWORK).bind(x)
    products = hidden_products(draws)
    time = theta.new_tensor(0.3)

    def one(point: torch.Tensor, observation: torch.Tensor) -> torch.Tensor:
        return -network(point, observation, time) / NETWORK.sigma(0.3)

    plain = torch.vmap(torch.vmap(one, (None, 0)), (0, None))

    @torch.no_grad()
    def with_vmap() -> None:
        plain(theta[0], x[0])

    times = cpu_times(
        {
            "score": lambda: bound(theta, 0.3),
            "total": lambda: bound.total(theta, 0.3),
            "products": products,
            "vmap": with_vmap,
        },
        rounds,
    )
    few, matching = theta[:, :JACOBIAN_SAMPLES], theta[:, : JACOBIAN_SAMPLES * (M + 1)]
    slopes = cpu_times(
        {"jacobian": lambda: bound.with_jacobian(few, 0.3), "score": lambda: bound(matching, 0.3)}, 3 * rounds
    )

    def row(name: str, ours: str, reference: str, bar: float | None = None) -> Row:
        seconds = times.seconds(ours), times.seconds(reference)
        return Row(name, *seconds, "s", times.ratio(ours, reference), bar)

    return [
        row("tall score / its matrix products", "score", "products", 1.35),
        row("tall sum of scores / the same", "total", "products", 1.35),
        row("tall score / plain vmap", "score", "vmap"),
        Row(
            "Jacobian / score, per sample",
            slopes.seconds("jacobian") / JACOBIAN_SAMPLES,
            slopes.seconds("score") / (JACOBIAN_SAMPLES * (M + 1)),
            "s",
            slopes.ratio("jacobian", "score") * (M + 1),
            M + 1.5,
        ),
    ]
