"""Speed benchmarks: `python -m benchmarks`, from the root of the repository, times the hot loops against their bars.

One file per benchmark: a module of this package with a function `run(rounds) -> list[Row]` (see
`benchmarks.report`). No list names it.
"""

import os

# Parallel code of numba, in some simulators, gives torch back all threads of the machine; one is what is timed.
os.environ.setdefault("NUMBA_NUM_THREADS", "1")
