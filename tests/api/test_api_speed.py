"""What a user waits for: imports, and draws of many observations; in processor time, whoever else is on the machine."""

import subprocess
import sys
import time

from benchmarks import problems
from tallsbi import TallPosterior

FIRST = """
import sys, time
start = time.process_time()
import tallsbi
imported = time.process_time() - start
assert "torch" not in sys.modules and "numpy" not in sys.modules
tallsbi.TallPosterior
used = time.process_time() - start
assert not {"matplotlib", "pandas", "scipy", "sbi", "sklearn", "arviz"} & set(sys.modules)
print(imported, used)
"""


def test_imports_are_quick():
    runs = [
        subprocess.run(
            [sys.executable, "-c", FIRST], capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(3)
    ]
    imported, used = (min(map(float, values)) for values in zip(*runs, strict=True))
    assert imported < 0.1
    assert used < 2.5


def test_a_thousand_draws_of_twenty_observations():
    """Of three parameters and eight times, the size of a pharmacokinetic study: at most two seconds of one core."""
    problem = problems.problem("pharmacokinetic")
    posterior = TallPosterior.fit(
        problem.prior, problem.simulations(2000), epochs=5, log_x=problem.log_x, progress=False
    )
    _, x = problem.datasets(1, 20)
    posterior.sample(x[0], 10)  # what is imported on first use
    start = time.process_time()
    assert posterior.sample(x[0], 1000).shape == (1000, 3)
    assert time.process_time() - start < 2.0
