"""The network's tall evaluation against the network called plainly, for random sizes, and its Jacobian."""

import json
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import few_examples, generator

from tallsbi.schedule import NETWORK, TOY
from tallsbi.scores import network_eval as module
from tallsbi.scores.network import Architecture, ScoreNetwork, time_features
from tallsbi.scores.network_eval import NetworkScore

widths = st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple)
embeddings = st.one_of(st.just(()), st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple))
ARCHITECTURES = [
    Architecture(3, 4, (16, 16, 16)),
    Architecture(3, 4, (8, 24, 12), layer_norm=True),
    Architecture(3, 4, (16,), frequencies=0),
    Architecture(3, 4, (12, 12), 5, False, (8, 8, 6), (5,)),
    Architecture(3, 4, (12, 12), 5, True, (8, 8, 6), (5,)),
]


def setup(architecture, B=2, S=5, n=3, dtype=torch.float64, seed=0):
    draws = generator(seed)
    network = ScoreNetwork(architecture, draws).to(dtype)
    theta = torch.randn(B, S, architecture.theta_dim, generator=draws, dtype=dtype)
    x = torch.randn(B, n, architecture.x_dim, generator=draws, dtype=dtype)
    return network, theta, x


def plain(network, theta, x, t, schedule):
    """Every pair written out as a row of its own."""
    B, S, n = *theta.shape[:2], x.shape[1]
    pairs = theta[:, :, None].expand(B, S, n, -1), x[:, None].expand(B, S, n, -1)
    return -network(*pairs, theta.new_full((B, S, n), t)).detach() / schedule.sigma(t)


def test_input_order_by_hand():
    """Identity-like weights show which input is where: theta, x, cosines, sines."""
    network = ScoreNetwork(Architecture(1, 2, (7,), frequencies=2)).double()
    first, last = network.trunk.layers
    with torch.no_grad():
        first.weight.copy_(torch.eye(7))
        first.bias.fill_(10)  # keeps every unit active
        last.weight.copy_(10.0 ** torch.arange(7)[None])
        last.bias.zero_()
    value = network(*(torch.tensor(v, dtype=torch.float64) for v in ([0.5], [0.25, -1.0], 0.3)))
    inputs = [0.5, 0.25, -1.0] + [g(math.pi * i * 0.3) for g in (math.cos, math.sin) for i in (1, 2)]
    expected = sum(10**k * (10 + v) for k, v in enumerate(inputs))
    assert float(value.detach()) == pytest.approx(expected, rel=1e-12)


def test_published_size():
    """SLCP: 5 parameters, 8 observations, three layers of 256."""
    network = ScoreNetwork(Architecture(5, 8))
    expected = (19 + 1) * 256 + 2 * (256 + 1) * 256 + (256 + 1) * 5
    assert sum(parameter.numel() for parameter in network.parameters()) == expected


def test_initial_weights_are_uniform_with_the_usual_bounds():
    """Bounds 1 / sqrt(fan in), nearly reached, and a mean of zero within five standard errors."""
    network = ScoreNetwork(Architecture(20, 30, theta_embedding=(64, 32)), generator(1))
    for layer in network.modules():
        if isinstance(layer, torch.nn.Linear):
            bound = 1 / math.sqrt(layer.in_features)
            values = torch.cat([layer.weight.flatten(), layer.bias]).detach()
            assert 0.99 * bound < float(values.abs().max()) <= bound
            assert abs(float(values.mean())) < 5 * bound / math.sqrt(3 * values.numel())


def test_initial_weights_come_from_the_generator_only():
    torch.manual_seed(1)
    one = ScoreNetwork(Architecture(2, 2), generator(3))
    state = torch.random.get_rng_state()
    two = ScoreNetwork(Architecture(2, 2), generator(3))
    assert torch.equal(state, torch.random.get_rng_state())
    for first, second in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(first, second)


def test_time_features_of_a_batch():
    t = torch.tensor([[0.1, 0.7]], dtype=torch.float64)
    features = time_features(t, 3)
    assert features.shape == (1, 2, 6)
    assert float(features[0, 1, 2]) == pytest.approx(math.cos(3 * math.pi * 0.7))
    assert float(features[0, 1, 3]) == pytest.approx(math.sin(math.pi * 0.7))


@few_examples
@given(
    st.integers(1, 4), st.integers(1, 5), widths, st.integers(0, 4), st.booleans(), embeddings, embeddings,
    st.tuples(st.integers(1, 3), st.integers(1, 8), st.integers(1, 6)), st.sampled_from([1e-3, 0.2, 1.0]),
)  # fmt: skip
def test_tall_evaluation_is_the_plain_network(m, d, hidden, f, norm, on_theta, on_x, sizes, t):
    architecture = Architecture(m, d, hidden, f, norm, on_theta, on_x)
    network, theta, x = setup(architecture, *sizes)
    bound = NetworkScore(network, NETWORK).bind(x)
    expected = plain(network, theta, x, t, NETWORK)
    scale = 1 / NETWORK.sigma(t)
    torch.testing.assert_close(bound(theta, t), expected, rtol=1e-9, atol=1e-10 * scale)
    torch.testing.assert_close(bound.total(theta, t), expected.sum(2), rtol=1e-9, atol=1e-9 * scale)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("t", [1e-3, 0.4, 1.0])
def test_jacobian_is_the_derivative(architecture, t):
    network, theta, x = setup(architecture)
    scores, jacobian = NetworkScore(network, TOY).bind(x).with_jacobian(theta, t)
    time, sigma = theta.new_tensor(t), TOY.sigma(t)

    def one(point, observation):
        return -network(point, observation, time) / sigma

    derivative = torch.func.jacrev(one)
    exact = torch.vmap(torch.vmap(torch.vmap(derivative, (None, 0)), (0, None)))(theta, x).detach()
    torch.testing.assert_close(scores, plain(network, theta, x, t, TOY))
    torch.testing.assert_close(jacobian, exact, rtol=1e-9, atol=1e-10 / sigma)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("rows", [1, 7, 40, 10**6])
def test_the_size_of_the_blocks_does_not_matter(monkeypatch, architecture, rows):
    network, theta, x = setup(architecture, B=5, S=7, n=4)
    bound = NetworkScore(network, TOY).bind(x)
    expected = bound(theta, 0.4), bound.total(theta, 0.4), *bound.with_jacobian(theta, 0.4)
    monkeypatch.setattr(module, "_ROWS_ON_CPU", rows)
    blocked = bound(theta, 0.4), bound.total(theta, 0.4), *bound.with_jacobian(theta, 0.4)
    for one, other in zip(expected, blocked, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("B", "S", "n", "copies"), [(1, 1000, 30, 1), (30, 1000, 1, 6), (9, 10, 7, 1), (3, 2, 999, 1)]
)
def test_blocks_cover_everything_once_and_stay_small(B, S, n, copies):
    buffers = module._Buffers(torch.empty(B, S, 2), n, 256, copies)
    seen = torch.zeros(B, S)
    for bs, ss in buffers.blocks():
        seen[bs, ss] += 1
        block = buffers.take(0, bs, ss, 256)
        assert block.shape[0] * block.shape[1] <= max(module._ROWS_ON_CPU, n * copies)
        assert torch.empty(B, S, n)[bs, ss].is_contiguous()
    assert bool((seen == 1).all())


def test_single_precision_is_good_to_single_precision():
    network, theta, x = setup(Architecture(5, 8), B=1, S=20, n=6, dtype=torch.float32)
    value = NetworkScore(network, NETWORK).bind(x)(theta, 0.3)
    exact = plain(network.double(), theta.double(), x.double(), 0.3, NETWORK)
    assert value.dtype == torch.float32
    assert float((value - exact).abs().max()) < 1e-5 * float(exact.abs().max())


def test_evaluation_leaves_network_and_arguments_alone():
    network, theta, x = setup(ARCHITECTURES[1])
    before = [parameter.clone() for parameter in network.parameters()], theta.clone(), x.clone()
    bound = NetworkScore(network, NETWORK).bind(x)
    first = bound(theta, 0.4)
    bound.with_jacobian(theta, 0.4), bound.total(theta, 0.2)
    assert torch.equal(bound(theta, 0.4), first)
    for old, new in zip(before[0], network.parameters(), strict=True):
        assert torch.equal(old, new)
    assert torch.equal(theta, before[1])
    assert torch.equal(x, before[2])
    assert not first.requires_grad


def test_nan_stays_with_its_sample():
    network, theta, x = setup(ARCHITECTURES[0])
    theta[1, 2, 0] = torch.nan
    bound = NetworkScore(network, NETWORK).bind(x)
    scores, _ = bound.with_jacobian(theta, 0.4)
    for value in (bound(theta, 0.4), scores, bound.total(theta, 0.4)):
        bad = value.isnan().flatten(2).any(2)
        assert bool(bad[1, 2])
        assert int(bad.sum()) == 1


def test_architecture_survives_json():
    for architecture in ARCHITECTURES:
        assert Architecture.from_json(json.loads(json.dumps(architecture.to_json()))) == architecture
    with pytest.raises(ValueError, match=r"architecture\.depth = 3.*theta_dim"):
        Architecture.from_json({"theta_dim": 1, "x_dim": 1, "depth": 3})
    with pytest.raises(ValueError, match="at least one layer"):
        Architecture(1, 1, ())
