"""The example of the README: x | theta ~ N(theta, 0.25 I), theta ~ N(0, I), in two dimensions. Not in the paper."""

from __future__ import annotations

import numpy as np

from tallsbi.study.tasks.gaussian_linear import GaussianLinear


class Gaussian2D(GaussianLinear):
    name = "gaussian_2d"
    label = "README example"
    dim_x = 2
    parameter_names = ("theta_1", "theta_2")
    noise_variance = np.full(2, 0.25)
    normals_before_theta_star = 0


TASK = Gaussian2D()
