"""Priors in the space the diffusion runs in: `gaussian`, `lognormal`, `uniform`, and `marginals` for other kinds."""
