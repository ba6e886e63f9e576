"""Sampling and training on a GPU that is not there (`fake_gpu`): no tensor of the host meets one of the GPU.

The host waits for a GPU whenever it asks for a number. How often it does must not depend on the number of time steps or
batches, except where a step cannot go on without an answer. Metrics work on numpy arrays of the host: all they need is
that draws come back there, which every test below checks.
"""

from dataclasses import replace

import fake_gpu as gpu
import pytest
import torch
from settings import toy_cell
from torch import distributions as td

from tallsbi import algorithms
from tallsbi.api.engine import NetworkEngine
from tallsbi.priors.gaussian import Gaussian
from tallsbi.priors.lognormal import LogNormal
from tallsbi.priors.marginals import Marginals
from tallsbi.priors.uniform import Uniform
from tallsbi.samplers import particles
from tallsbi.samplers.base import Noise
from tallsbi.samplers.multistep import Multistep
from tallsbi.schedule import NETWORK
from tallsbi.scores import network_eval, precision
from tallsbi.scores.group_network import GroupArchitecture, GroupNetwork
from tallsbi.scores.groups import GroupEncoding
from tallsbi.scores.network import Architecture, ScoreNetwork
from tallsbi.scores.network_file import SavedNetwork
from tallsbi.scores.normaliser import Normaliser
from tallsbi.study.stages.toy import ToyEngine
from tallsbi.study.tasks.toy import make_toy
from tallsbi.summaries.likelihood import SummaryLikelihood
from tallsbi.summaries.variance import VarianceLaw
from tallsbi.training import data, embedded, groups, loop
from tallsbi.training.settings import TrainingSettings

pytestmark = pytest.mark.skipif(gpu.missing() is not None, reason=str(gpu.missing()))

M, D, B, N, S = 2, 3, 2, 4, 5
PRIORS = {
    "Gaussian": Gaussian.standard(M),
    "LogNormal": LogNormal(torch.zeros(M), torch.ones(M)),
    "Uniform": Uniform(-2 * torch.ones(M), 2 * torch.ones(M)),
    "Marginals": Marginals([td.Gamma(2.0, 1.0), td.Beta(2.0, 3.0)]),
}
COMPOSED = sorted(set(algorithms.names()) - {"AUTO", "CLT"})  # AUTO is GAUSS_PD, CLT has no time steps
QUESTIONS_PER_STEP = (
    9  # at most, in one pass with one fork: which samples have one, and how many rows hold them
)
SAMPLES = torch.Size([B, S, M])


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory):
    gpu.install(tmp_path_factory.mktemp("gpu"))


def built(name, steps):
    """The algorithm with few steps, also where it has a run of its own for covariances, or moves at each step."""
    few = {"cov_steps": 2, "cov_samples": 9, "inner_steps": 1}
    accepted = algorithms.settings_of(name)
    settings = {key: value for key, value in few.items() if key in accepted}
    return algorithms.build(name, {"steps": steps, **settings})


def generators(count=B):
    return [torch.Generator().manual_seed(number) for number in range(count)]


def observations():
    return torch.randn(B, N, D, generator=torch.Generator().manual_seed(7))


def engine(prior="Gaussian", network=None, x_dim=D, context=0, **settings):
    network = network or ScoreNetwork(Architecture(M, x_dim + context, hidden=(8, 8)))
    ones, zeros = (make(x_dim, dtype=torch.float64) for make in (torch.ones, torch.zeros))
    normaliser = Normaliser(zeros[:1].expand(M), ones[:1].expand(M), zeros, ones)
    saved = SavedNetwork(network, normaliser, NETWORK, "test", torch.zeros(3), {})
    return NetworkEngine(saved, PRIORS[prior], device=gpu.GPU, **settings)


def waits(name, drawing, steps, x=None):
    """What the host waits for in a run; its draws are on the host."""
    with gpu.fake_gpu() as waits:
        run = drawing.sample(built(name, steps), observations() if x is None else x, S, generators())
        assert (run.theta.shape, run.theta.device.type) == (SAMPLES, "cpu")
        assert all(part.device.type == "cpu" for part in vars(run.health).values())
    return waits


def assert_no_step_waits(name, make=engine, x=None):
    few, many = (waits(name, make(), steps, x) for steps in (2, 4))
    assert few == many
    assert few.copies
    return few


def test_a_fake_gpu_refuses_what_a_gpu_would_and_counts_waits():
    with gpu.fake_gpu() as waits:
        on_gpu, on_host = torch.ones(3, device=gpu.GPU), torch.ones(3)
        with pytest.raises(RuntimeError, match="same device"):
            on_gpu + on_host
        assert waits.total == 0
        assert bool((on_gpu > 0).any()) in (False, True)
        assert on_gpu.cpu().device.type == "cpu"
        assert len(on_gpu.nonzero()) == 1
    assert (waits.copies, len(waits.questions)) == ([(3,)], 2)


@pytest.mark.parametrize("name", COMPOSED)
def test_no_time_step_waits(name):
    assert not assert_no_step_waits(name).questions


@pytest.mark.parametrize("prior", sorted(PRIORS.keys() - {"Gaussian"}))
@pytest.mark.parametrize("name", ["GAUSS_PD", "JAC", "LANGEVIN"])
def test_priors(name, prior):
    assert_no_step_waits(name, lambda: engine(prior))


@pytest.mark.parametrize("name", ["GAUSS", "JAC"])
def test_networks_with_embeddings_and_layer_normalisation(name):
    sizes = Architecture(M, D, hidden=(8, 8), layer_norm=True, theta_embedding=(6,), x_embedding=(7, 4))
    assert_no_step_waits(name, lambda: engine(network=ScoreNetwork(sizes)))


@pytest.mark.parametrize("name", ["GAUSS", "JAC", "LANGEVIN"])
def test_reduced_precision(name, monkeypatch):
    monkeypatch.setattr(precision, "missing", lambda device: None)
    assert_no_step_waits(name, lambda: engine(precision=precision.BFLOAT16))


@pytest.mark.parametrize("name", ["GAUSS", "JAC", "GAUSS_PD"])
def test_a_learned_prior(name):
    def make():
        drawing, generator = engine(context=1), torch.Generator().manual_seed(3)
        return drawing.with_learned_prior(Multistep(steps=2), 20, generator)

    with gpu.fake_gpu():
        assert make().learned_covariance.shape == (M, M)
        run = make().sample(built(name, 2), observations(), S, generators())
        assert (run.theta.shape, run.theta.device.type) == (SAMPLES, "cpu")


@pytest.mark.parametrize("kind", ["mean", "deep_set"])
def test_groups_of_observations(kind):
    encoding = GroupEncoding(kind, 3)
    x, width = encoding.blocks(observations()), encoding.width(D)
    network = None
    if kind == "deep_set":
        network = GroupNetwork(GroupArchitecture(M, width, hidden=(8, 8), x_embedding=(6, 4), n_max=3))
    assert_no_step_waits("GAUSS", lambda: engine(network=network, x_dim=width), x)


@pytest.mark.parametrize("problem", ["gaussian-wide", "mixture"])
@pytest.mark.parametrize("name", ["DET_GEF", "GAUSS_PD", "JAC"])
def test_exact_and_perturbed_scores_of_the_toys(name, problem):
    toy, counts = make_toy(toy_cell(problem, m=M, seeds=B), N, seed=1), []
    for steps in (2, 4):
        with gpu.fake_gpu() as counted:
            drawing = ToyEngine(toy, 0.1, torch.float32, gpu.GPU)
            run = built(name, steps).sample(drawing.problem(toy.x), S, Noise(generators(), device=gpu.GPU))
            assert run.theta.device.type == "cuda"
        counts.append(counted)
    assert counts[0] == counts[1]


@pytest.mark.parametrize("prior", ["Gaussian", "Uniform"])
@pytest.mark.parametrize("name", ["DET_GEF-clip", "GAUSS-clip", "JAC-clip"])
def test_plain_and_clipped_in_one_pass(name, prior):
    """Which samples have a path of their own must be asked at every step."""
    totals = []
    for steps in (2, 4):
        with gpu.fake_gpu() as counted:
            for run in engine(prior).sample_both(built(name, steps), observations(), S, generators()):
                assert (run.theta.shape, run.theta.device.type) == (SAMPLES, "cpu")
        totals.append(counted.total)
    assert (totals[1] - totals[0]) // 2 <= QUESTIONS_PER_STEP


def test_tempered_particles_ask_once_per_rise(monkeypatch):
    # Torch computes no derivatives of fake tensors of a GPU; everything else of a move does.
    monkeypatch.setattr(particles, "_gradient", lambda value, at: torch.zeros_like(at))
    draws = generators(1)[0]
    theta, x = torch.randn(200, M, generator=draws), torch.randn(200, D, generator=draws)
    learnt = SummaryLikelihood.fit(theta, x, seed=1, epochs=2)
    assert learnt is not None
    learnt = replace(learnt, variance_law=VarianceLaw(level=0.3, power=0.5, low=1e-4, high=0.2))
    with gpu.fake_gpu() as counted:
        bound = learnt.to(gpu.GPU).bind(observations().to(gpu.GPU))
        prior = PRIORS["Gaussian"].to(device=gpu.GPU)
        start = torch.randn(B, S, M, device=gpu.GPU)
        moving = particles.Particles(
            start, bound.log_prob, prior.log_prob, Noise(generators(), device=gpu.GPU)
        )
        assert bound.beginning.log_prob(start, prior.log_prob).device.type == "cuda"
        before = counted.total
        moving.rise()
        assert counted.total == before + 1
        moving._rise()
        moving.move(4)
        assert counted.total == before + 1
        assert moving.place.theta.device.type == "cuda"
        nearer = bound.near(moving.place.theta)
        assert nearer is not bound
        assert nearer.log_prob(moving.place.theta).device.type == "cuda"
        assert counted.total == before + 1


SETTINGS = {
    "published": {},
    "stated": {"layer_norm": True, "early_stopping": True, "theta_embedding": (6,), "x_embedding": (7, 4)},
    "without context": {"drop_context": 0.2},
}


def training_settings(**settings):
    return TrainingSettings(
        **{"batch_size": 16, "hidden": (8, 8), "validate_every": 1, "epochs": 2, **settings}
    )


def simulations(rows, *shape):
    draws = generators(1)[0]
    return tuple(torch.randn(rows, *size, generator=draws).to(gpu.GPU) for size in ((M,), (*shape, D)))


@pytest.fixture
def without_digest(monkeypatch):
    """A checksum of rows that hold no numbers."""
    monkeypatch.setattr(data, "_digest", lambda *tensors: "")


@pytest.mark.parametrize("kind", SETTINGS)
def test_no_batch_of_a_training_waits(kind, without_digest):
    settings, counts = training_settings(**SETTINGS[kind]), []
    for rows in (40, 200):
        with gpu.fake_gpu() as counted:
            run = loop.new_run(*simulations(rows), settings, NETWORK, seed=1)
            before = counted.total
            run.one_epoch()
            counts.append(counted.total - before)
            assert run.weights.device.type == run.result().validation_losses.device.type == "cuda"
    assert counts[0] == counts[1] <= 4


@pytest.fixture
def without_derivatives(monkeypatch):
    """Torch has none of fake tensors of a GPU."""
    monkeypatch.setattr(torch.Tensor, "backward", lambda loss: None)


def test_training_on_groups(without_digest, without_derivatives):
    for kind in ("mean", "deep_set"):
        with gpu.fake_gpu():
            latent, x = simulations(40, 3)
            trained = groups.train_on_groups(
                latent, x, GroupEncoding(kind, 3), training_settings(), NETWORK, seed=1
            )
            assert trained.validation_losses.device.type == "cuda"


@pytest.mark.parametrize("kind", ["mlp", "cnn"])  # torch has no fake GRU for a GPU
def test_training_of_an_embedding(kind, without_digest, without_derivatives):
    with gpu.fake_gpu():
        latent, _ = simulations(40)
        rows = torch.randn(40, 12).to(gpu.GPU)
        run = embedded.embedded_run(latent, rows, kind, (12,), (), 0, training_settings(), NETWORK, seed=1)
        run.one_epoch()
        assert run.result().validation_losses.device.type == "cuda"


def test_blocks_are_as_large_as_free_memory_allows(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    sizes = []
    for free in (10**7, 10**9, 10**12):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device, free=free: (free, 2 * free))
        sizes.append(network_eval._rows_at_once(torch.device(gpu.GPU), 256))
    assert sizes[0] < sizes[1] < sizes[2] == network_eval._ROWS_ON_ACCELERATOR
    assert 3 * 4 * 256 * sizes[1] <= 10**8
