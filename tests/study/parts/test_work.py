"""How large a job is said to be."""

import pytest
from settings import methods, sampling
from studies import STUDY, changed

from tallsbi.study.parts import work
from tallsbi.study.settings.select import Candidate


def test_work_grows_with_what_is_computed():
    assert work.network_rows({"steps": 10}, 5, 2, step=0) == 10 * 5 * 2 / 1000
    covariances = {"steps": 10, "cov_steps": 4, "cov_samples": 3, "inner_steps": 2}
    assert work.network_rows(covariances, 5, 2, datasets=7, step=0) == (20 * 70 + 4 * 42) / 1000
    one, two = (STUDY.sbibm.train("slcp", n, Candidate(0.001, 60)) for n in (500, 1000))
    assert work.train(two) == 2 * work.train(one) == 50 * 1000 * 2 / 1000
    whole, half = STUDY, changed("sbibm", "batches", to=2)
    sizes = [
        work.sample_of(study.sbibm, study.sbibm.sample("slcp", 2000, "samples", "JAC", "1-of-2"))
        for study in (whole, half)
    ]
    assert sizes[0] == 2 * sizes[1]


def test_a_clipped_variant_beside_the_plain_one_counts_its_share():
    given = methods(
        GAUSS={"steps": 10, "cov_steps": 5, "cov_samples": 20},
        LANGEVIN={"steps": 4, "inner_steps": 5},
        JAC={"steps": 10},
    )

    def rows(*names):
        return work.sample(sampling("slcp", methods=given, names=names, n_obs=(8,)), 3)

    for name, share in {"LANGEVIN": work.CLIPPED_SHARE["LANGEVIN"], "JAC": 1.0}.items():
        assert rows(name) == rows(f"{name}-clip")
        assert rows(name, f"{name}-clip") == pytest.approx((1 + share) * rows(name))
    both = rows("GAUSS", "GAUSS-clip") / rows("GAUSS")
    assert 1 < both < 1 + work.CLIPPED_SHARE["GAUSS"]  # the covariances are shared


def test_jacobians_cost_more_in_high_dimension():
    """With the exact scores of a toy: a Jacobian has m columns, and its inverse m^3."""

    def growth(method):
        at = [work.sample_toy(STUDY.toy.sample("gaussian-wide", m, 0.01, 400, method)) for m in (10, 32)]
        return at[1] / at[0]

    assert growth("GAUSS") == pytest.approx(3.2)
    assert growth("JAC") > 15
