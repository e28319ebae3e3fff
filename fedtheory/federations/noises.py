"""The laws of the noise of convex federations' stochastic gradients, by name."""

from __future__ import annotations

COMMON = "common two-point"
ONE_SIDED = "one-sided two-point"
NOISES = ("two-point", "gaussian", COMMON, ONE_SIDED)


def check_noise(gradient_noise: float, noise: str, server_noise: float = 0.0) -> None:
    """Refuse what is no noise."""
    for name, level in {"gradient_noise": gradient_noise, "server_noise": server_noise}.items():
        if not 0 <= level < float("inf"):
            raise ValueError(f"{name} = {level}: allowed is a finite number >= 0")
    if noise not in NOISES:
        raise ValueError(f"noise = {noise!r}: allowed is one of {', '.join(NOISES)}")
