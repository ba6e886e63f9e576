"""Priors in the space of the diffusion: `gaussian`, `lognormal`, `uniform`, and `marginals` and `pushed` for others."""
