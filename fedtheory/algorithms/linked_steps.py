"""The server's step sizes that SAFARI's theorems link to the clients'.

SAFARI runs with any two step sizes; these links are hypotheses of Theorems 4 and 5. They are two different ones:
they agree exactly if L = mu.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..quantities import check_values
from ..rationals import exact_number
from .safari import Safari

ROUNDING = Fraction(1, 10**12)
"""Relative tolerance at which two step sizes that were computed in floating point agree, some 1e-15."""


def theorem_4_server_lr(local_lr: float | str | Fraction, local_steps: int) -> Fraction:
    """The server's step size under Theorem 4's tie, eta_s = K eta_c / 2, in units of x^2/F.

    Raises:
        ValueError: a value out of bounds.

    Source: SAFARI, Theorem 4: eta_c = 2 eta_s / K.

    >>> theorem_4_server_lr("1/100", local_steps=3)
    Fraction(3, 200)
    """
    given = _checked({"local_lr": local_lr, "local_steps": local_steps})
    return given["local_steps"] * given["local_lr"] / 2


def theorem_5_server_lr(
    local_lr: float | str | Fraction,
    local_steps: int,
    *,
    smoothness: float | str | Fraction,
    strong_convexity: float | str | Fraction,
) -> Fraction:
    """The server's step size under Theorem 5's tie, eta_s = K eta_c (L + mu) / (4 L), in units of x^2/F.

    Raises:
        ValueError: a value out of bounds, or a step above the theorem's cap eta_s <= 2 / (L + mu).

    Source: SAFARI, Theorem 5: eta_c K mu / 2 = 2 eta_s L mu / (L + mu).

    >>> theorem_5_server_lr("1/100", local_steps=3, smoothness=3, strong_convexity=1)
    Fraction(1, 100)
    """
    given = _checked(
        {
            "local_lr": local_lr,
            "local_steps": local_steps,
            "smoothness": smoothness,
            "strong_convexity": strong_convexity,
        }
    )
    L, mu, K = given["smoothness"], given["strong_convexity"], given["local_steps"]
    linked = K * given["local_lr"] * (L + mu) / (4 * L)
    if linked > 2 / (L + mu):
        raise ValueError(
            f"local_lr = {local_lr}: by eta_c K mu / 2 = 2 eta_s L mu / (L + mu) (Theorem 5) server_lr is {linked}, "
            f"above its cap 2 / (L + mu) = {2 / (L + mu)}; allowed is local_lr <= 8 L / (K (L + mu)^2) = "
            f"{8 * L / (K * (L + mu) ** 2)}"
        )
    return linked


def check_theorem_4_tie(algorithm: Safari) -> None:
    """Refuse an algorithm whose steps are not those of Theorem 4's tie, eta_c = 2 eta_s / K.

    Raises:
        ValueError: ``server_lr`` is another one than ``theorem_4_server_lr``, up to rounding.

    >>> from fedtheory.algorithms import safari
    >>> check_theorem_4_tie(safari(client_round_probability=1, local_lr="1/100", server_lr="1/100"))
    Traceback (most recent call last):
    ValueError: server_lr = 1/100: eta_c = 2 eta_s / K (Theorem 4) makes it 1/200 for local_lr = 1/100, local_steps = 1
    """
    _check_tie(algorithm, theorem_4_server_lr(algorithm.local_lr, algorithm.local_steps), "eta_c = 2 eta_s / K", 4)


def check_theorem_5_tie(
    algorithm: Safari, *, smoothness: float | str | Fraction, strong_convexity: float | str | Fraction
) -> None:
    """Refuse an algorithm whose steps are not those of Theorem 5's tie, eta_c K mu / 2 = 2 eta_s L mu / (L + mu).

    Raises:
        ValueError: ``server_lr`` is another one than ``theorem_5_server_lr``, up to rounding, or above the cap.
    """
    linked = theorem_5_server_lr(
        algorithm.local_lr, algorithm.local_steps, smoothness=smoothness, strong_convexity=strong_convexity
    )
    _check_tie(algorithm, linked, "eta_c K mu / 2 = 2 eta_s L mu / (L + mu)", 5)


def _check_tie(algorithm: Safari, linked: Fraction, equation: str, theorem: int) -> None:
    if abs(algorithm.server_lr - linked) > ROUNDING * linked:
        raise ValueError(
            f"server_lr = {algorithm.server_lr}: {equation} (Theorem {theorem}) makes it {linked} for "
            f"local_lr = {algorithm.local_lr}, local_steps = {algorithm.local_steps}"
        )


def _checked(values: dict[str, Any]) -> dict[str, Any]:
    exact: dict[str, Any] = {name: exact_number(name, value) for name, value in values.items()}
    check_values(exact)
    return exact
