"""JAC that is positive definite by construction, with memory bounded in n.

As in JAC the covariance of backward kernel j is (sigma^2 / alpha)(I + sigma^2 J_j) with J_j the Jacobian of the
score, here symmetrised and capped between 0 and the covariance of the prior's backward kernel in the Loewner
order (see `tallsbi.compose.loewner`). The prior's kernel is the exact one: for a uniform prior the truncated
normal at this theta and t. Its matched Gaussian, which serves GAUSS_PD, does worse here: for a Gaussian likelihood
in a box and n = 8 or 30, draws are 0.1 to 0.6 posterior standard deviations off (W1) instead of 0.06 to 0.2.

The lower cap says how much narrower than the prior a single posterior can be. It keeps a Jacobian that is wrong
near t = 1, where its error counts 1 / alpha times, from claiming certainty.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from tallsbi.compose.base import TallScore, sample_blocks
from tallsbi.compose.loewner import gains
from tallsbi.linalg.batched import inverse
from tallsbi.priors.base import DiffusedPrior
from tallsbi.scores.base import BoundScore
from tallsbi.shapes import States


class JacPDScore(TallScore):
    """`narrowest`: the smallest variance of a single posterior, relative to the prior's.

    `blocks`: the n observations in order, in one or more bound scores.
    """

    def __init__(
        self, blocks: Sequence[BoundScore], prior: DiffusedPrior, datasets: int, narrowest: float = 1e-4
    ) -> None:
        super().__init__(blocks[0], prior, datasets)
        self.blocks, self.n, self.narrowest = blocks, sum(block.n for block in blocks), narrowest
        sharpest = (1 / torch.linalg.eigvalsh(prior.covariance())[:, 0]).max()
        # A number on a processor; on a GPU it stays there, so that no step waits for it.
        self._sharpest = float(sharpest) if sharpest.device.type == "cpu" else sharpest

    def __call__(self, theta: States, t: float) -> States:
        if self.n == 1:
            return self.blocks[0](theta, t)[:, :, 0]
        B, S, m = theta.shape
        ratio, sigma2 = self.schedule.alpha(t) / self.schedule.sigma2(t), self.schedule.sigma2(t)
        prior_score, prior_excess = self.prior.score_and_excess(theta, t, self.schedule)
        values, axes = torch.linalg.eigh(prior_excess)
        values = values.clamp_min(0) + ratio
        root = (axes * values.sqrt()[..., None, :]) @ axes.mT
        precision = (axes * values[..., None, :]) @ axes.mT
        eye = torch.eye(m, dtype=theta.dtype, device=theta.device)
        Lambda, right = precision.expand(B, S, m, m).clone(), torch.zeros_like(theta)
        for block in self.blocks:
            for part in sample_blocks(theta, block.n):
                scores, jacobian = block.with_jacobian(theta[:, part], t)
                local = (root if root.shape[1] == 1 else root[:, part])[:, :, None]
                relative = local @ (eye + sigma2 * jacobian) @ local / ratio
                gain = gains(relative, local, self._lower_cap(ratio))
                difference = scores - prior_score[:, part, None]
                total = difference.sum(2)[..., None]
                prior_part = (precision if root.shape[1] == 1 else precision[:, part]) @ total
                Lambda[:, part] += gain.sum(2)
                right[:, part] += ((gain @ difference[..., None]).sum(2) + prior_part)[..., 0]
        inverses, positive = inverse(Lambda.double())
        self.lost_definiteness.add(~positive, t)
        return prior_score + (inverses @ right.double()[..., None])[..., 0].to(theta.dtype)

    def _lower_cap(self, ratio: float) -> float | Tensor:
        """The backward variance of a posterior with the smallest variance, relative to the prior's.

        One number serves all directions and datasets: the loosest, of the direction in which a prior is narrowest.
        """
        return (ratio + self._sharpest) / (ratio + self._sharpest / self.narrowest)
