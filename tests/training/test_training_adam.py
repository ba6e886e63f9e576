"""Adam against torch's own optimiser, bit by bit."""

import subprocess
import sys

import torch
from oracles import generator

from tallsbi.training.adam import Adam


def test_same_bytes_as_the_optimiser_of_torch():
    draws = generator(1)
    start = torch.randn(1003, generator=draws)
    theirs = torch.nn.Parameter(start.clone())
    optimiser = torch.optim.Adam([theirs], lr=3e-3, fused=True)
    ours = start.clone()
    adam = Adam(ours, 3e-3)
    for _ in range(20):
        theirs.grad = torch.randn(1003, generator=draws)
        optimiser.step()
        adam.step(theirs.grad)
    assert torch.equal(ours, theirs.detach())
    assert not torch.equal(ours, start)


def test_restored_state_goes_on_as_if_never_interrupted():
    draws = generator(2)
    gradients = torch.randn(6, 10, generator=draws)
    whole, parts = torch.ones(10), torch.ones(10)
    one, first = Adam(whole, 0.1), Adam(parts, 0.1)
    for gradient in gradients:
        one.step(gradient)
    for gradient in gradients[:3]:
        first.step(gradient)
    second = Adam(parts, 0.1)
    second.restore({key: value.clone() for key, value in first.state.items()})
    for gradient in gradients[3:]:
        second.step(gradient)
    assert torch.equal(whole, parts)


def test_training_loads_neither_compiler_nor_symbolic_algebra():
    """Seconds per job, for nothing."""
    script = (
        "import sys, torch\n"
        "from tallsbi.schedule import NETWORK\n"
        "from tallsbi.training.loop import train\n"
        "from tallsbi.training.settings import TrainingSettings\n"
        "theta = torch.linspace(0, 1, 40).reshape(20, 2)\n"
        "train(theta, theta, TrainingSettings(epochs=2, hidden=(4,)), NETWORK, seed=1)\n"
        "sys.exit('torch._dynamo' in sys.modules or 'sympy' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
