"""The shared loop: clipping, health, and noise that belongs to a dataset."""

import math

import pytest
import torch
from oracles import GaussianCase, generator

from tallsbi.compose.fnpse import FactorisedScore
from tallsbi.samplers.base import Noise
from tallsbi.samplers.ddim import DDIM
from tallsbi.samplers.det_gef import DetGef
from tallsbi.samplers.langevin import Langevin
from tallsbi.samplers.tamed import TamedLangevin

SAMPLERS = {
    "DDIM": lambda **k: DDIM(eta=0.5, **k),
    "DET_GEF": lambda **k: DetGef(**k),
    "LANGEVIN": lambda **k: Langevin(inner_steps=2, **k),
    "TAMED": lambda **k: TamedLangevin(inner_steps=2, **k),
}


class Spy(FactorisedScore):
    """Remembers the states it is asked about, and can turn NaN from some time on."""

    def __init__(self, case, nan_from=-math.inf, dtype=torch.float64):
        super().__init__(case.bound(dtype), case.prior(dtype), case.B)
        self.nan_from, self.visited = nan_from, []

    def parts(self, theta, t):
        self.visited.append((t, theta.clone()))
        total, prior = super().parts(theta, t)
        return (total * torch.nan, prior) if t <= self.nan_from else (total, prior)


@pytest.mark.parametrize("name", SAMPLERS)
def test_clip_keeps_every_state_in_the_box(name):
    """Clipped at 0.7 while the posterior is partly outside: all states after the first step are inside.

    The inner steps of Langevin dynamics may leave the box, the state at each new time may not.
    """
    case = GaussianCase(2, 3, 2)
    spy = Spy(case)
    result = SAMPLERS[name](steps=20, clip=0.7).run(spy, 50, Noise([generator()], torch.float64))
    times = [t for t, _ in spy.visited]
    states = [theta for i, (t, theta) in enumerate(spy.visited) if i > 0 and times[i - 1] != t]
    assert len(states) == 19
    assert max(float(theta.abs().max()) for theta in states) == 0.7
    assert float(result.theta.abs().max()) == 0.7


@pytest.mark.parametrize("name", SAMPLERS)
def test_without_clip_nothing_is_cut(name):
    case = GaussianCase(2, 3, 2)
    result = SAMPLERS[name](steps=20).run(Spy(case), 50, Noise([generator()], torch.float64))
    assert float(result.theta.abs().max()) > 0.7


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_score_that_turns_nan_is_reported_and_does_not_raise(name):
    case = GaussianCase(2, 3, 2)
    result = SAMPLERS[name](steps=10, clip=3.0).run(
        Spy(case, nan_from=0.55), 7, Noise([generator()], torch.float64)
    )
    assert result.health.nonfinite.tolist() == [7, 7]
    # The score at t = 0.5 spoils the state at 0.4, except that TAMED looks at the lower end of each step.
    expected = 0.5 if name == "TAMED" else 0.4
    assert result.health.nonfinite_time.tolist() == pytest.approx([expected, expected])


def test_a_healthy_run_reports_nothing():
    health = (
        DDIM(steps=10, eta=0.5).run(Spy(GaussianCase(2, 3, 2)), 7, Noise([generator()], torch.float64)).health
    )
    assert health.nonfinite.tolist() == health.lost_definiteness.tolist() == [0, 0]
    assert bool(health.nonfinite_time.isnan().all() and health.lost_definiteness_time.isnan().all())


def test_one_diverging_dataset_does_not_spoil_the_other():
    case = GaussianCase(2, 3, 2)
    case.x[1] = 1e300
    noise = Noise([generator(1), generator(2)], torch.float64)
    result = DDIM(steps=10, eta=0.5).run(Spy(case), 7, noise)
    assert bool(result.theta[0].isfinite().all())
    case.x[1] = 0
    again = DDIM(steps=10, eta=0.5).run(Spy(case), 7, Noise([generator(1), generator(2)], torch.float64))
    torch.testing.assert_close(result.theta[0], again.theta[0])


def test_every_time_is_visited_once_and_in_order():
    spy = Spy(GaussianCase(1, 3, 2))
    DDIM(steps=4, eta=0.0).run(spy, 3, Noise([generator()], torch.float64))
    assert [t for t, _ in spy.visited] == [1.0, 0.75, 0.5, 0.25]


def test_progress_sees_every_step():
    steps_seen = []

    def progress(steps):
        for step in steps:
            steps_seen.append(step)
            yield step

    DDIM(steps=4, eta=0.0).run(Spy(GaussianCase(1, 3, 2)), 3, Noise([generator()], torch.float64), progress)
    assert steps_seen == [(1.0, 0.75), (0.75, 0.5), (0.5, 0.25), (0.25, 0.0)]


def test_noise_of_a_dataset_does_not_depend_on_the_others():
    joint = Noise([generator(1), generator(2), generator(3)])(3, 5, 2)
    alone = Noise([generator(2)])(1, 5, 2)
    assert torch.equal(joint[1], alone[0])


def test_a_single_generator_serves_any_number_of_datasets():
    draws = Noise([generator()], torch.float64)(4, 5, 2)
    assert draws.shape == (4, 5, 2)
    assert draws.dtype == torch.float64
    assert not torch.equal(draws[0], draws[1])


def test_generators_must_fit_the_datasets():
    with pytest.raises(ValueError, match="2 generators for 3 datasets"):
        Noise([generator(1), generator(2)])(3, 5, 2)
    with pytest.raises(ValueError, match="at least one"):
        Noise([])
