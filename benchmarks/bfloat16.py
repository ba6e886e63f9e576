"""The tall score with hidden products in bfloat16 against float32, at the size of SLCP: S = 1000, n = 30, m = 5, d = 8.

Where the processor has no such products the rows say so and hold no bar. The Jacobian is shown without one: of its work
less is in products.
"""

from __future__ import annotations

import math

import torch

from benchmarks.report import Row, cpu_times
from benchmarks.tall_score import JACOBIAN_SAMPLES, OBSERVATIONS, SAMPLES, D, M
from tallsbi.schedule import NETWORK
from tallsbi.scores.network import Architecture, ScoreNetwork
from tallsbi.scores.network_eval import NetworkScore
from tallsbi.scores.precision import BFLOAT16, PRECISIONS, missing

BAR = 1.7


def run(rounds: int) -> list[Row]:
    if reason := missing("cpu"):
        return [Row(f"bfloat16: skipped, {reason}", math.nan, math.nan, "s", math.nan)]
    draws = torch.Generator().manual_seed(0)
    network = ScoreNetwork(Architecture(M, D), draws)
    theta = torch.randn(1, SAMPLES, M, generator=draws)
    x = torch.randn(1, OBSERVATIONS, D, generator=draws)
    bound = {name: NetworkScore(network, NETWORK, name).bind(x) for name in PRECISIONS}
    few = theta[:, : 4 * JACOBIAN_SAMPLES]
    rows = []
    for name, bar, call in (
        ("tall score", BAR, lambda score: score(theta, 0.3)),
        ("tall sum of scores", BAR, lambda score: score.total(theta, 0.3)),
        ("Jacobian", None, lambda score: score.with_jacobian(few, 0.3)),
    ):
        times = cpu_times({p: lambda p=p, call=call: call(bound[p]) for p in PRECISIONS}, rounds)  # type: ignore[misc]
        reference, ours = (times.seconds(p) for p in PRECISIONS)
        speed = 1 / times.ratio(BFLOAT16, PRECISIONS[0])
        rows.append(Row(f"{name}: float32 / bfloat16", ours, reference, "s", speed, bar, at_most=False))
    return rows
