"""Time grids that spend their steps where the posterior takes shape.

A posterior of standard deviation v emerges from the noise where sigma(t) is of the order of v; for many observations
that is at small t, where the uniform grid of the paper has no steps left: with T = 50 its last time is 0.02,
where sigma is 0.08. A power of a uniform grid has more of its steps at small t, where they are about equal in
the log signal-to-noise ratio, and fewer near t = 1, where nothing happens.
"""


def power_grid(steps: int, last_time: float, power: float) -> list[float]:
    """`steps` times from 1 down to `last_time`, uniform in t^(1 / power), and then 0."""
    if steps < 1:
        raise ValueError(f"power_grid(steps={steps}): at least one step is needed.")
    if not 0 < last_time < 1 or not power > 0:
        raise ValueError(
            f"power_grid(last_time={last_time}, power={power}): the last time lies between 0 and 1, and the "
            "power is positive."
        )
    if steps == 1:
        return [1.0, 0.0]
    low = last_time ** (1 / power)
    return [*((1 - (1 - low) * i / (steps - 1)) ** power for i in range(steps)), 0.0]
