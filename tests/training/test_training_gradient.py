"""The written-out gradient against autograd, for every kind of network; and the average of the weights."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import generator

from tallsbi.schedule import NETWORK
from tallsbi.scores.network import Architecture, ScoreNetwork
from tallsbi.training.ema import Average
from tallsbi.training.gradient import PerceptronGradient, flatten
from tallsbi.training.loss import epoch_rows

widths = st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple)
embeddings = st.one_of(st.just(()), st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.integers(1, 4), st.integers(1, 5), widths, st.integers(0, 4), st.booleans(), embeddings, embeddings,
    st.integers(1, 7), st.integers(0, 3),
)  # fmt: skip
def test_gradient_equals_autograd(m, d, hidden, f, norm, theta_embedding, x_embedding, rows, spare):
    architecture = Architecture(m, d, hidden, f, norm, theta_embedding, x_embedding)
    network = ScoreNetwork(architecture, generator(1)).double()
    flatten(network)
    draws = generator(2)
    batch = epoch_rows(
        torch.randn(rows, m, generator=draws, dtype=torch.float64),
        torch.randn(rows, d, generator=draws, dtype=torch.float64),
        NETWORK,
        f,
        draws,
    )
    gradient = PerceptronGradient(network, rows + spare)
    gradient.flat.fill_(torch.nan)  # every entry must be written
    loss = gradient(batch)
    theta, x, features = batch.inputs.tensor_split((m, m + d), dim=1)
    expected = (network.with_features(theta, x, features) - batch.noise).square().mean()
    parts = torch.autograd.grad(expected, list(network.parameters()))
    torch.testing.assert_close(loss, expected.detach(), rtol=1e-12, atol=1e-14)
    exact = torch.cat([part.flatten() for part in parts])
    torch.testing.assert_close(gradient.flat, exact, rtol=1e-7, atol=1e-10)


def test_batches_of_different_sizes_share_the_buffers():
    network = ScoreNetwork(Architecture(2, 3, (8, 8)), generator(1)).double()
    flatten(network)
    draws = generator(2)
    rows = epoch_rows(
        torch.randn(20, 2, generator=draws).double(), torch.randn(20, 3, generator=draws).double(), NETWORK, 3, draws
    )  # fmt: skip
    gradient, parts = PerceptronGradient(network, 12), []
    for start, stop in ((0, 12), (12, 20)):
        gradient(rows.slice(start, stop))
        parts.append(gradient.flat.clone() * (stop - start))
    whole = PerceptronGradient(network, 20)
    whole(rows)
    torch.testing.assert_close(sum(parts) / 20, whole.flat)


def test_the_flat_vector_is_the_network():
    network = ScoreNetwork(Architecture(2, 3, (4,)), generator(1))
    before = [parameter.clone() for parameter in network.parameters()]
    flat = flatten(network)
    for old, new in zip(before, network.parameters(), strict=True):
        assert torch.equal(old, new)
    flat.zero_()
    assert not any(bool(parameter.any()) for parameter in network.parameters())


@pytest.mark.parametrize("decay", [0.0, 0.9])
def test_average_copies_first_and_then_moves(decay):
    network = ScoreNetwork(Architecture(1, 1, (2,)), generator(1))
    flat = flatten(network)
    average = Average(network, decay)
    values = [torch.randn(flat.shape, generator=generator(k)) for k in range(4)]
    expected = values[0]
    for k, value in enumerate(values):
        average.update(value)
        expected = value if k == 0 else decay * expected + (1 - decay) * value
        torch.testing.assert_close(average.flat, expected)
    # The network that evaluates with the average is the average, the trained one is left alone.
    shown = torch.cat([parameter.flatten() for parameter in average.network.parameters()])
    assert torch.equal(shown, average.flat)
    assert not torch.equal(flat, average.flat)
