"""An epoch of training: N_train = 30,000 simulations of SLCP's size, batches of 256, validation included.

The reference is the loop one writes first: random split, DataLoader over a TensorDataset, Adam, autograd,
AveragedModel. Its matrix products are the same as ours; the second row says how close to them we are,
and the third what the first could be at most, on this machine.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from benchmarks.report import Row, cpu_times
from tallsbi.schedule import NETWORK
from tallsbi.scores.network import Architecture, ScoreNetwork
from tallsbi.training.data import prepare
from tallsbi.training.loop import Run
from tallsbi.training.settings import TrainingSettings

N_TRAIN, M, D, BATCH, HIDDEN = 30_000, 5, 8, 256, 256


def run(rounds: int) -> list[Row]:
    draws = torch.Generator().manual_seed(0)
    theta, x = torch.randn(N_TRAIN, M, generator=draws), torch.randn(N_TRAIN, D, generator=draws)
    # A validation with one draw every epoch, as the reference does it.
    settings = TrainingSettings(batch_size=BATCH, validate_every=1, validation_draws=1)
    ours = Run(prepare(theta, x, settings.validation_share, draws), settings, NETWORK, seed=0)
    times = cpu_times(
        {
            "ours": ours.one_epoch,
            "reference": _plain_loop(theta, x),
            "products": _products(len(ours.data.theta)),
        },
        max(2, rounds // 3),
    )

    def row(name: str, first: str, second: str, ours: str, most: float | None = None) -> Row:
        reference = second if ours == first else first
        seconds = times.seconds(ours), times.seconds(reference)
        return Row(f"training epoch: {name}", *seconds, "s", times.ratio(first, second), most)

    return [
        row("plain loop / ours", "reference", "ours", "ours"),
        row("ours / its matrix products", "ours", "products", "ours", 1.3),
        row("plain loop / matrix products", "reference", "products", "products"),
    ]


def _plain_loop(theta: torch.Tensor, x: torch.Tensor) -> Callable[[], None]:
    from torch.optim.swa_utils import AveragedModel, get_ema_avg_fn
    from torch.utils.data import DataLoader, TensorDataset, random_split

    draws = torch.Generator().manual_seed(0)
    data = TensorDataset((theta - theta.mean(0)) / theta.std(0), (x - x.mean(0)) / x.std(0))
    training, validation = random_split(data, [0.8, 0.2], generator=draws)
    batches = DataLoader(training, batch_size=BATCH, shuffle=True, generator=draws)
    held_out = DataLoader(validation, batch_size=BATCH)
    network = ScoreNetwork(Architecture(M, D), draws)
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-4)
    average = AveragedModel(network, avg_fn=get_ema_avg_fn(0.999))

    def loss_of(model: torch.nn.Module, theta: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        t = torch.rand(len(theta), generator=draws)
        z = torch.randn(theta.shape, generator=draws)
        noised = NETWORK.sqrt_alpha(t)[:, None] * theta + NETWORK.sigma(t)[:, None] * z
        return torch.mean((model(noised, x, t) - z) ** 2)

    def epoch() -> None:
        total = 0.0
        for batch in batches:
            optimiser.zero_grad()
            loss = loss_of(network, *batch)
            loss.backward()
            optimiser.step()
            average.update_parameters(network)
            total += loss.item()
        with torch.no_grad():
            sum(loss_of(average, *batch).item() for batch in held_out)

    return epoch


def _products(rows: int) -> Callable[[], None]:
    """The six products of the two square layers: forward, errors and weights, for every batch."""
    left, right = torch.randn(BATCH, HIDDEN), torch.randn(HIDDEN, HIDDEN)
    result = torch.empty(BATCH, HIDDEN)

    def epoch() -> None:
        for _ in range(-(-rows // BATCH)):
            for _ in range(2):
                torch.mm(left, right.mT, out=result)
                torch.mm(left, right, out=result)
                torch.mm(left.mT, right, out=result)

    return epoch
