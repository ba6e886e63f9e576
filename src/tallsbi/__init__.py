"""tallsbi: sampling p(theta | x_1, ..., x_n) from a score network trained on single observations.

Notation, the same in every module: m = dim theta, d = dim x, n observations per dataset, S samples per
dataset, B datasets solved in one call, T time steps. alpha(t) is the squared signal coefficient of the
forward diffusion and upsilon(t) = 1 - alpha(t) its noise variance.
"""

__version__ = "0.1.0"
