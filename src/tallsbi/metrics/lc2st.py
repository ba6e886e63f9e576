"""The local classifier two-sample test of the `sbi` package (appendix of section 4.3; Linhart et al., 2023).

Calibration pairs (theta_i, x_i) of the simulator are joined by one draw of the estimated posterior for each
x_i. A classifier learns to tell the draws from the theta_i, given x. At one observation, the statistic is the
mean squared deviation of its predictions from 1/2 over the estimated posterior there; the same for classifiers
trained on permuted labels gives the null, and the share of the null above the statistic is the p-value.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class LocalTest:
    """Statistic and p-value for each classifier seed, and the statistics of the null."""

    statistics: Float[np.ndarray, "seeds"]
    p_values: Float[np.ndarray, "seeds"]
    null: Float[np.ndarray, "permutations"]


def local_test(
    theta: Float[Tensor, "N m"],
    drawn: Float[Tensor, "N m"],
    x: Float[Tensor, "N k"],
    theta_o: Float[Tensor, "S m"],
    x_o: Float[Tensor, "k"],
    *,
    classifiers: int,
    permutations: int,
) -> LocalTest:
    """The test at x_o, where the estimated posterior has the draws theta_o.

    theta, drawn, x: calibration pairs and a posterior draw for each. The classifier seeds are 1, 2, ... as in
    the published results. Rows with a draw that is not finite are refused: the caller leaves them out.
    """
    from sbi.diagnostics.lc2st import LC2ST
    from sklearn.exceptions import ConvergenceWarning

    for name, values in {"theta": theta, "drawn": drawn, "x": x, "theta_o": theta_o, "x_o": x_o}.items():
        if not bool(values.isfinite().all()):
            raise ValueError(f"l-C2ST: {name} has values that are not finite; leave those rows out.")
    test = LC2ST(theta, x, drawn, num_trials_null=permutations)
    statistics = []
    # The permutations seed torch's global stream.
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        for seed in range(1, classifiers + 1):
            test.train_on_observed_data(seed=seed, verbosity=0)
            statistics.append(test.get_statistic_on_observed_data(theta_o, x_o))
        test.train_under_null_hypothesis(verbosity=0)
        null = test.get_statistics_under_null_hypothesis(theta_o, x_o).scores
    observed = np.array(statistics)
    return LocalTest(observed, (observed[:, None] < null[None]).mean(1), np.asarray(null))


def local_statistic(
    theta: Float[Tensor, "N m"],
    drawn: Float[Tensor, "N m"],
    x: Float[Tensor, "N k"],
    theta_o: Float[Tensor, "S m"],
    x_o: Float[Tensor, "k"],
) -> float:
    """The statistic alone, of one classifier; see `local_test`."""
    from sbi.diagnostics.lc2st import LC2ST
    from sklearn.exceptions import ConvergenceWarning

    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        test = LC2ST(theta, x, drawn)
        test.train_on_observed_data(seed=1, verbosity=0)
        return float(test.get_statistic_on_observed_data(theta_o, x_o))
