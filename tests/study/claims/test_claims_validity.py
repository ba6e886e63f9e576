"""What is lost or invalid wins no claim: infinitely far, or no data."""

import numpy as np
import pytest
from claims_data import sbibm_distances

from tallsbi.study.claims.kinds import evidence
from tallsbi.study.claims.spec import SingleTest
from tallsbi.study.claims.views import _lost_as_infinite

METRICS = ["sw", "mmd", "c2st"]


@pytest.fixture(scope="module")
def frame():
    """GAUSS is good, JAC has the values of a perfect sampler."""
    data = sbibm_distances(("gmm",), ("GAUSS", "JAC"), n_obs=(8,), n_train=(1000,), lost=False)
    return data.assign(**{name: data[name].mask(data.method == "JAC", 1e-6) for name in METRICS})


def of_jac(frame, **values):
    return frame.assign(**{name: frame[name].mask(frame.method == "JAC", to) for name, to in values.items()})


def compared(frame, metric):
    test = SingleTest(
        "compare",
        "sbibm",
        "less",
        value=metric,
        unit=("set",),
        scale="difference",
        left={"method": "JAC"},
        right={"method": "GAUSS"},
    )
    return evidence(test, lambda name: _lost_as_infinite(frame, METRICS))


@pytest.mark.parametrize("metric", METRICS)
def test_a_lost_run_is_infinitely_far_whatever_its_distance(frame, metric):
    assert compared(frame, metric).within(0.05)
    assert compared(of_jac(frame, lost_share=0.02), metric).estimate == np.inf
    assert compared(of_jac(frame, lost_share=0.01), metric).within(0.05)


def test_draws_that_blew_up_are_infinitely_far_by_bounded_metrics_alone(frame):
    wide = of_jac(frame, mmd_valid=False, c2st_valid=False)
    assert compared(wide, "mmd").estimate == compared(wide, "c2st").estimate == np.inf
    assert compared(wide, "sw").within(0.05)


def test_a_starved_classifier_is_no_evidence(frame):
    starved = frame.assign(c2st_valid=False)
    assert "too few samples" in compared(starved, "c2st").missing
    assert compared(starved, "mmd").within(0.05)
