"""Samplers: drive a tall score from noise to samples."""

from tallsbi.samplers.base import Health, Noise, Sampler, Samples

__all__ = ["Health", "Noise", "Sampler", "Samples"]
