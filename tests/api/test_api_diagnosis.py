"""SBC and l-C2ST accept the exact posterior and reject ones that are too narrow or in the wrong place."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from api_models import PRIOR, ExactEngine, datasets, exact_posterior, simulator

from tallsbi import TallPosterior
from tallsbi.api.diagnosis import Diagnosis
from tallsbi.metrics.calibration import calibration
from tallsbi.metrics.lc2st import LocalTest

SMALL_DIAGNOSIS = {"datasets": 150, "n_samples": 100, "settings": {"cov_samples": 60}}


@dataclass(frozen=True, eq=False)
class Narrow(ExactEngine):
    """Draws with half the spread, or shifted."""

    factor: float = 0.5
    shift: float = 0.0

    def sample(self, *arguments):
        run = super().sample(*arguments)
        mean = run.theta.mean(1, keepdim=True)
        return replace(run, theta=mean + self.factor * (run.theta - mean) + self.shift)


def sizes(B):
    """Those of a calibrated posterior."""
    rng = np.random.default_rng(0)
    return calibration(3, rng.standard_normal((B, 2)), rng.standard_normal((B, 100, 2)), rng)


def test_the_exact_posterior_is_calibrated():
    diagnosis = exact_posterior().diagnose(
        simulator, 5, datasets(1, 5)[0], **SMALL_DIAGNOSIS, permutations=10
    )
    assert diagnosis.ranks.shape == (150, 2)
    assert 0 <= diagnosis.ranks.min() <= diagnosis.ranks.max() <= 100
    assert diagnosis.ks_p_values.min() > 1e-3
    assert np.abs(diagnosis.c2st_prior - 0.5).max() < 0.2
    assert diagnosis.local.p_values.shape == (1,)
    text = str(diagnosis)
    assert "AUTO, n = 5, 150 datasets with 100 draws each" in text
    assert "l-C2ST at the observed dataset" in text
    assert np.abs(diagnosis.size.rms_z.value - 1).max() < 0.25
    assert "power: 150 datasets find a sigma 2" in text
    # Ten numbers per dataset and 150 of them: a classifier learns nothing, and the text says it.
    assert ("l-C2ST has no power here" in text) == (diagnosis.local_power < 1)


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (Narrow(factor=0.4), "too narrow in sigma"),
        (Narrow(factor=1.0, shift=1.0), "sigma too high on average"),
    ],
)
def test_a_wrong_posterior_is_rejected(engine, words):
    diagnosis = TallPosterior(engine, 2).diagnose(simulator, 5, **SMALL_DIAGNOSIS)
    assert diagnosis.ks_p_values.max() < 1e-4
    assert not diagnosis.calibrated
    assert diagnosis.local is None
    assert "NOT calibrated: beyond the bars" in str(diagnosis)
    assert words in str(diagnosis)


def test_the_local_test_sees_a_shift():
    diagnosis = TallPosterior(Narrow(factor=1.0, shift=1.5), 2).diagnose(
        simulator, 2, datasets(1, 2)[0], **{**SMALL_DIAGNOSIS, "datasets": 300}, permutations=10
    )
    assert diagnosis.local.p_values[0] == 0
    assert diagnosis.local.statistics[0] > diagnosis.local.null.max()


def test_the_local_test_says_whether_it_has_power():
    """300 datasets of one observation are enough to see a shift of a standard deviation, 30 of many are not."""
    x = datasets(1, 12)[0]
    weak = exact_posterior().diagnose(
        simulator, 12, x, **{**SMALL_DIAGNOSIS, "datasets": 30}, permutations=10
    )
    assert weak.local_power < 1
    assert "l-C2ST has no power here" in str(weak)
    strong = exact_posterior().diagnose(
        simulator, 1, x[:1], **{**SMALL_DIAGNOSIS, "datasets": 1000}, permutations=10
    )
    assert strong.local_power == 1
    assert "no power" not in str(strong)


def test_pairs_are_taken_as_they_are_and_results_repeat():
    theta = PRIOR.sample(120, torch.Generator().manual_seed(0))
    x = theta[:, None] + torch.randn(
        120, 3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    )
    one = exact_posterior().diagnose((theta, x), 3, **SMALL_DIAGNOSIS)
    other = exact_posterior().diagnose((theta.numpy(), x.numpy()), 3, **SMALL_DIAGNOSIS)
    assert np.array_equal(one.ranks, other.ranks)
    assert np.array_equal(one.c2st_prior, other.c2st_prior)
    drawn = exact_posterior().sample(x, 100, settings=SMALL_DIAGNOSIS["settings"])
    assert np.array_equal(one.ranks, (drawn < theta[:, None]).sum(1).numpy())


def test_what_cannot_be_diagnosed():
    posterior = exact_posterior()
    theta, x = PRIOR.sample(5, torch.Generator()), datasets(5, 3)
    with pytest.raises(ValueError, match=r"for n = 4 give theta \[N, 2\] and x \[N, 4, 2\]"):
        posterior.diagnose((theta, x), 4)
    with pytest.raises(TypeError, match="the first argument is NoneType: give the simulator"):
        posterior.diagnose(None, 4)
    with pytest.raises(ValueError, match=r"one dataset of n = 3 observations, \[3, 2\]"):
        posterior.diagnose((theta, x), 3, datasets(1, 4))
    with pytest.raises(ValueError, match="n = 0: it must be a positive integer"):
        posterior.diagnose(simulator, 0)
    with pytest.raises(
        ValueError, match="finite draws for 2 of 2 datasets, and a diagnosis needs 3; raise `datasets`"
    ):
        posterior.diagnose(simulator, 2, datasets=2, n_samples=10, settings={"cov_samples": 10})


def test_few_datasets_and_absurd_draws_do_not_pass():
    ranks, level = np.tile(np.arange(0.0, 100.0, 2.0), (2, 1)).T, np.array([0.5, 0.6])
    few = Diagnosis(3, "JAC", 100, ranks, level, np.array([0.52, 0.5]), sizes(50))
    assert few.calibrated
    assert "no test rejects, but 50 datasets are too few to tell; use 100 or more" in str(few)
    absurd = replace(few, c2st_prior=np.array([0.5, 1.0]))
    assert not absurd.calibrated
    assert "NOT calibrated" in str(absurd)


def test_a_local_p_value_is_never_zero():
    """Among k permutations and the data, the data are the worst with probability 1 / (k + 1)."""
    local = LocalTest(np.array([0.3]), np.array([0.0]), np.linspace(0, 0.1, 9))
    diagnosis = Diagnosis(3, "JAC", 100, np.zeros((120, 2)), np.ones(2), np.full(2, 0.5), sizes(120), local)
    assert diagnosis.local_p_value == pytest.approx(0.1)
    assert diagnosis.calibrated, "ten is too few to reject at 5 per cent"
