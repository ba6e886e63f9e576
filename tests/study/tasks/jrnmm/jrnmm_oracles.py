"""The Jansen-Rit model, its random streams and its summary once more, in plain numpy, for comparison.

Written from the equations: the linear step by matrix exponentials, half kicks one by one, the spectrum by a
fast Fourier transform per window. Nothing here calls the code that it is compared with.
"""

import numpy as np
from scipy.linalg import expm

A, B, A_RATE, B_RATE = 3.25, 22.0, 100.0, 50.0
RATES = (A_RATE, A_RATE, B_RATE)


def philox(counter, key):
    """Philox4x32-10 in Python's integers."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 % 2**32, (p0 >> 32) ^ c3 ^ k1, p0 % 2**32
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return c0, c1, c2, c3


def normals(seed, index, count):
    """The stream of a simulation, from the words of `philox` by the library's functions."""
    out = []
    for block in range(-(-count // 4)):
        words = philox((index % 2**32, index >> 32, block, 0), (seed % 2**32, seed >> 32))
        for first, second in (words[:2], words[2:]):
            radius = np.sqrt(-2 * np.log((first + 0.5) / 2**32))
            angle = np.pi * ((second % 2**31 + 0.5) / 2**31 - 0.5)
            sign = -1 if second >= 2**31 else 1
            out += [sign * radius * np.cos(angle), radius * np.sin(angle)]
    return np.array(out[:count])


def drift_matrix(k):
    return np.array([[0.0, 1.0], [-k * k, -2 * k]])


def linear_law(k, t):
    """exp(F t) and the covariance after a time t from rest with unit noise (Van Loan's formula)."""
    F = drift_matrix(k)
    block = np.zeros((4, 4))
    block[:2, :2], block[:2, 2:], block[2:, 2:] = -F, np.diag([0.0, 1.0]), F.T
    exponential = expm(block * t)
    transition = exponential[2:, 2:].T
    return transition, transition @ exponential[:2, 2:]


def drive(X, theta, vmax=5.0):
    """What the kicks add per second to (X_3, X_4, X_5), for X [N, 6] and theta [N, 4]."""
    C, mu = theta[:, 0], theta[:, 1]

    def sigmoid(v):
        return vmax / (1 + np.exp(np.minimum(0.56 * (6 - v), 500)))

    return np.stack(
        [
            A * A_RATE * sigmoid(X[:, 1] - X[:, 2]),
            A * A_RATE * (mu + 0.8 * C * sigmoid(C * X[:, 0])),
            B * B_RATE * 0.25 * C * sigmoid(0.25 * C * X[:, 0]),
        ],
        1,
    )


def path(theta, z, h, vmax=5.0):
    """X_1 - X_2 [N, steps + 1] at every step, from z [N, steps + 1, 6]: the start, then the noise."""
    laws = [linear_law(k, h) for k in RATES]
    strengths = 0.01, theta[:, 2:3], 1.0
    X = z[:, 0].copy()
    recorded = [X[:, 1] - X[:, 2]]
    for j in range(1, z.shape[1]):
        X[:, 3:] += h / 2 * drive(X, theta, vmax)
        for i, (transition, covariance) in enumerate(laws):
            noise = z[:, j, 2 * i : 2 * i + 2] @ np.linalg.cholesky(covariance).T
            X[:, [i, i + 3]] = X[:, [i, i + 3]] @ transition.T + strengths[i] * noise
        X[:, 3:] += h / 2 * drive(X, theta, vmax)
        recorded.append(X[:, 1] - X[:, 2])
    return np.stack(recorded, 1)


def recording(theta, z, h, burn_steps, keep_every):
    """What is kept of `path`: amplified, and without its mean."""
    y = 10 ** (theta[:, 3:] / 10) * path(theta, z, h)[:, burn_steps::keep_every]
    return y - y.mean(1, keepdims=True)


def linear_autocovariance(strengths, times):
    """Covariance [n, n] of X_1 - X_2 at increasing times without drive, from X(0) ~ N(0, I).

    strengths of the noises of X_4 and X_5. Cov(X(t), X(s)) = exp(F (t - s)) Cov(X(s)) for t >= s.
    """
    total = np.zeros((len(times), len(times)))
    for k, strength in zip(RATES[1:], strengths, strict=True):
        for j, s in enumerate(times):
            transition, covariance = linear_law(k, s)
            covariance = transition @ transition.T + strength**2 * covariance
            for i in range(j, len(times)):
                value = (linear_law(k, times[i] - s)[0] @ covariance)[0, 0]
                total[i, j] += value
                if i > j:
                    total[j, i] += value
    return total


def log_spectrum(signal):
    windows = [signal[start : start + 65] for start in range(0, len(signal) - 64, 32)]
    return np.log10(np.mean([np.abs(np.fft.rfft(window)) ** 2 for window in windows], axis=0))
