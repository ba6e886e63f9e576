"""Hidden products in bfloat16: how near they are, where they are refused, and that nothing else changes."""

import pytest
import torch

from tallsbi.schedule import TOY
from tallsbi.scores import precision
from tallsbi.scores.network import Architecture, ScoreNetwork, time_features
from tallsbi.scores.network_eval import NetworkScore

ARCHITECTURES = [
    Architecture(3, 4, hidden=(128, 96, 128)),
    Architecture(3, 4, hidden=(128, 128), layer_norm=True),
    Architecture(3, 4, hidden=(64, 64), theta_embedding=(16, 8), x_embedding=(16, 8)),
]


@pytest.fixture
def supported(monkeypatch):
    """Products in bfloat16 are right on every processor, only slow where they are emulated."""
    monkeypatch.setattr(precision, "missing", lambda device: None)


def made(architecture, B=2, S=9, n=5):
    draws = torch.Generator().manual_seed(1)
    network = ScoreNetwork(architecture, draws)
    theta, x = torch.randn(B, S, 3, generator=draws), torch.randn(B, n, 4, generator=draws)
    return network, theta, x


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_scores_and_jacobians_are_those_of_float32_within_its_rounding(supported, architecture):
    network, theta, x = made(architecture)
    exact, reduced = (NetworkScore(network, TOY, name).bind(x) for name in precision.PRECISIONS)
    pairs = [
        (reduced(theta, 0.4), exact(theta, 0.4)),
        (reduced.total(theta, 0.4), exact.total(theta, 0.4)),
        *zip(reduced.with_jacobian(theta, 0.4), exact.with_jacobian(theta, 0.4), strict=True),
    ]
    # A Jacobian jumps where a unit is switched on or off, so that a few of its entries are far off.
    for (ours, reference), most in zip(pairs, (0.02, 0.02, 0.02, 0.15), strict=True):
        assert ours.dtype == torch.float32
        error = (ours - reference).norm() / reference.norm()
        assert 0 < float(error) < most


def test_the_sum_and_the_jacobian_agree_with_the_scores(supported):
    network, theta, x = made(ARCHITECTURES[0])
    bound = NetworkScore(network, TOY, "bfloat16").bind(x)
    scores = bound(theta, 0.4)
    torch.testing.assert_close(bound.total(theta, 0.4), scores.sum(2), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(bound.with_jacobian(theta, 0.4)[0], scores, rtol=2e-2, atol=2e-2)


def test_weights_and_activations_are_rounded_once_and_nothing_else(supported):
    network, theta, x = made(Architecture(3, 4, hidden=(64, 48)))
    first, middle, last = network.trunk.linear
    t = torch.full((2, 9, 5), 0.4)
    pairs = theta[:, :, None].expand(2, 9, 5, 3), x[:, None].expand(2, 9, 5, 4)
    with torch.no_grad():
        hidden = first(torch.cat([*pairs, time_features(t, 3)], -1)).relu().bfloat16()
        # A product of two bfloat16 numbers is exact in float32, in which they are summed.
        product = hidden.float() @ middle.weight.bfloat16().float().mT + middle.bias.bfloat16().float()
        expected = -last(product.bfloat16().float().relu()) / TOY.sigma(0.4)
    ours = NetworkScore(network, TOY, "bfloat16").bind(x)(theta, 0.4)
    assert float((ours - expected).norm() / expected.norm()) < 1e-3


def test_what_is_not_finite_stays_so(supported):
    network, theta, x = made(ARCHITECTURES[0])
    theta[0, 3, 1] = torch.nan
    scores = NetworkScore(network, TOY, "bfloat16").bind(x)(theta, 0.4)
    assert bool(scores[0, 3].isnan().all())
    assert bool(scores[1].isfinite().all())


def test_a_network_with_one_hidden_layer_has_no_hidden_products(supported):
    network, theta, x = made(Architecture(3, 4, hidden=(32,)))
    exact, reduced = (NetworkScore(network, TOY, name).bind(x)(theta, 0.4) for name in precision.PRECISIONS)
    assert torch.equal(exact, reduced)


def test_float32_is_the_default_and_unchanged():
    network, theta, x = made(ARCHITECTURES[0])
    assert torch.equal(
        NetworkScore(network, TOY).bind(x)(theta, 0.4),
        NetworkScore(network, TOY, "float32").bind(x)(theta, 0.4),
    )


def test_a_processor_without_such_products_is_refused(monkeypatch):
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(torch.cpu, name, lambda: False, raising=False)
    network, _, _ = made(ARCHITECTURES[0])
    with pytest.raises(
        precision.PrecisionUnsupported, match=r"precision = 'bfloat16': this .* AMX.*'float32'"
    ):
        NetworkScore(network, TOY, "bfloat16")
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True)
    assert precision.missing("cpu") is None


@pytest.mark.parametrize(("capability", "refused"), [((7, 5), True), ((8, 0), False), ((9, 0), False)])
def test_old_gpus_are_refused(monkeypatch, capability, refused):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert (precision.missing("cuda") is not None) == refused
    if refused:
        with pytest.raises(ValueError, match=r"compute capability 7.5"):
            precision.checked("bfloat16", "cuda")


def test_words_that_are_no_precision_and_double_precision_are_refused(supported):
    with pytest.raises(ValueError, match=r"precision = 'half': it must be one of 'float32', 'bfloat16'"):
        precision.checked("half", "cpu")
    with pytest.raises(ValueError, match="dtype = 'float64'"):
        precision.checked("bfloat16", "cpu", torch.float64)
