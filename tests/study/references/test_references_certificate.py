"""Certificates pass for independent draws and fail for chains that disagree or crawl."""

import numpy as np
import pytest
import xarray as xr
from arviz_versions import EACH_VERSION, run_with

from tallsbi.storage.files import read_dataset, write_dataset
from tallsbi.study.columns.sbibm import CERTIFICATES
from tallsbi.study.references.certificate import (
    NUMBERS,
    Certificate,
    Check,
    chain_checks,
    energy_information,
    lagged_correlation,
    pack,
    unpack,
)
from tallsbi.study.references.tidy import certificate_table


def certify(chains):
    return Certificate("test", chain_checks(chains, max_rhat=1.01, min_bulk=1000, min_tail=1000))


def draws(chains=8, count=500, m=2, seed=0):
    return np.random.default_rng(seed).standard_normal((chains, count, m))


def test_independent_draws_pass():
    certificate = certify(draws())
    assert certificate.passed
    assert certificate.numbers()["rhat"] < 1.005
    assert 2500 < certificate.numbers()["ess_bulk"] < 6000  # 4000 draws


@EACH_VERSION
def test_versions_of_arviz_agree(arviz_version, pytestconfig):
    values = {check.name: check.values for check in certify(draws()).checks}
    program = f"""
import numpy as np
from tallsbi.study.references.certificate import chain_checks
chains = np.random.default_rng(0).standard_normal((8, 500, 2))
for check in chain_checks(chains, max_rhat=1.01, min_bulk=1000, min_tail=1000):
    np.testing.assert_allclose(check.values, {values}[check.name], rtol=1e-9)
"""
    run_with(arviz_version, program, pytestconfig)


def test_chains_stuck_in_two_modes_fail():
    chains = draws()
    chains[4:, :, 1] += 6  # every second coordinate of half the chains
    certificate = certify(chains)
    assert not certificate.passed
    assert certificate.numbers()["rhat"] > 1.5
    assert certificate.numbers()["ess_bulk"] < 50


def test_slow_chains_fail():
    """An autoregression with coefficient 0.98 has one independent draw in about a hundred."""
    noise = draws()
    chains = np.zeros_like(noise)
    for i in range(1, noise.shape[1]):
        chains[:, i] = 0.98 * chains[:, i - 1] + np.sqrt(1 - 0.98**2) * noise[:, i]
    certificate = certify(chains)
    assert not certificate.passed
    assert certificate.numbers()["ess_bulk"] < 200


def test_the_worst_coordinate_counts():
    chains = draws(m=5)
    good = certify(chains)
    chains[0, :, 3] += 3
    bad = certify(chains)
    assert good.passed
    assert not bad.passed
    rhat = next(check for check in bad.checks if check.name == "rhat")
    assert len(rhat.values) == 5
    assert np.argmax(rhat.values) == 3
    assert bad.numbers()["rhat"] == max(rhat.values)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("coordinate", [0, 1])
def test_a_constant_coordinate_does_not_pass(coordinate):
    chains = draws()
    chains[..., coordinate] = 1.0
    assert not certify(chains).passed


@pytest.mark.parametrize("coordinate", [0, 1])
def test_not_a_number_does_not_pass(coordinate):
    chains = draws()
    chains[0, 10, coordinate] = np.nan
    assert not certify(chains).passed


def test_exact_draws_need_no_diagnosis():
    certificate = Certificate("closed form")
    assert certificate.passed
    np.testing.assert_equal(certificate.numbers(), NUMBERS)


def test_a_check_holds_between_its_bounds_and_never_for_nan():
    assert Check("rhat", (1.0, 1.01), at_most=1.01).passed
    assert not Check("rhat", (1.0, 1.02), at_most=1.01).passed
    assert not Check("rhat", (np.nan, 1.0), at_most=1.01).passed
    assert np.isnan(Check("rhat", (1.0, np.nan), at_most=1.01).worst)
    assert Check("cells", (1000.0,), at_least=1000).passed
    assert Check("cells_per_sd", (7.0, 4.0), at_least=5).worst == 4.0


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="certificate of grid: unknown border_mass; there are rhat"):
        Certificate("grid", (Check("border_mass", (0.0,), at_most=1e-6),))


GRID = (Check("cells_per_sd", (6.0, 8.0), at_least=5.0), Check("border", (2e-6,), at_most=1e-6))
CHAINS = (Check("rhat", (1.001, np.nan), at_most=1.01),)


def certified():
    """Three sets: a grid whose border is too heavy, chains with a NaN, exact draws."""
    certificates = [
        Certificate("grid", GRID),
        Certificate("NUTS", CHAINS, {"divergences": 2, "chains": 4, "acceptance": 0.8}),
        Certificate("closed form"),
    ]
    theta = (("set", "sample", "parameter"), np.zeros((3, 4, 2)))
    data = xr.Dataset({"theta": theta, **pack(certificates, ("set",))}, coords={"set": [5, 6, 7]})
    return certificates, data


def test_certificates_survive_the_file_with_values_per_coordinate_and_bounds(tmp_path):
    certificates, data = certified()
    write_dataset(data, tmp_path / "reference.nc")
    again = read_dataset(tmp_path / "reference.nc")
    for index, expected in zip((5, 6, 7), certificates, strict=True):
        certificate = unpack(again.sel(set=index))
        assert certificate.method == expected.method
        assert certificate.failed == expected.failed
        for check, original in zip(certificate.checks, expected.checks, strict=True):
            assert check.bounds == original.bounds
            np.testing.assert_equal(check.values, original.values)
        np.testing.assert_equal(certificate.numbers(), expected.numbers())


def test_bounds_that_differ_within_a_dataset_are_refused():
    checks = [Certificate("grid", (Check("border", (0.0,), at_most=bound),)) for bound in (1e-6, 1e-5)]
    with pytest.raises(ValueError, match="check border: several bounds in one dataset"):
        pack(checks, ("set",))


def test_the_table_names_what_failed():
    frame = certificate_table([("two_moons", 8, certified()[1])])
    assert list(frame) == list(CERTIFICATES.kinds)
    assert frame.set.tolist() == [5, 6, 7]
    assert frame.passed.tolist() == [False, False, True]
    assert frame.checks.tolist() == ["cells_per_sd border", "rhat", ""]
    assert frame.failed.tolist() == ["border", "rhat", ""]
    assert frame.border.tolist()[0] == 2e-6
    assert frame.cells_per_sd.tolist()[0] == 6.0
    assert np.isnan(frame.rhat[1])


def test_a_count_that_is_checked_stays_a_count():
    checked = Certificate("NUTS", (Check("divergences", (3,), at_most=0),))
    data = xr.Dataset(pack([checked], ("set",)), coords={"set": [0]})
    frame = certificate_table([("slcp", 8, data)])
    assert (frame.divergences.tolist(), frame.failed.tolist()) == ([3], ["divergences"])


def test_every_number_of_a_certificate_has_a_column():
    assert set(NUMBERS) | {"task", "set", "n", "method", "passed", "checks", "failed"} == set(
        CERTIFICATES.kinds
    )


def test_correlation_at_a_lag_of_a_known_process():
    """An autoregression with coefficient 0.8 has correlation 0.8**3 at lag 3; the sign is left out."""
    rng = np.random.default_rng(1)
    chains = np.zeros((4, 20_000, 2))
    for i in range(1, chains.shape[1]):
        chains[:, i] = chains[:, i - 1] * [0.8, -0.8] + rng.standard_normal((4, 2))
    np.testing.assert_allclose(lagged_correlation(chains, 3), 0.8**3, atol=0.05)
    np.testing.assert_allclose(lagged_correlation(chains, 40), 0, atol=0.05)


def test_energy_information_of_known_processes():
    """2 where every energy is independent of the last, 2 (1 - 0.9) for an autoregression; the worst chain counts."""
    rng = np.random.default_rng(2)
    energy = rng.standard_normal((2, 50_000))
    assert energy_information(energy) == pytest.approx(2, abs=0.05)
    for i in range(1, energy.shape[1]):
        energy[1, i] += 0.9 * energy[1, i - 1]
    assert energy_information(energy) == pytest.approx(0.2, abs=0.02)
