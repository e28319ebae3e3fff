"""Participation by index: FAST's Gamma and Weibull laws (`IndexBeta` is in ``successive_sampling``)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import isfinite

import numpy as np
import scipy

from ..arguments import check_option, is_real
from .successive_sampling import SuccessiveSampling

BEYOND = ("redrawn", "last")


class _IndexLaw(SuccessiveSampling):
    """A law on [0, infinity) whose draws u name client floor(u M); ``beyond`` says what u >= 1 does."""

    beyond: str

    @abstractmethod
    def _masses(self, clients: int) -> tuple[np.ndarray, float]:
        """The law's masses of the cells [i/M, (i+1)/M], (clients,), and of what lies beyond 1."""

    def relative_weights(self, clients: int) -> np.ndarray:
        masses, rest = self._masses(clients)
        if self.beyond == "last":
            masses[-1] += rest
        if not masses.max() > 0:
            raise ValueError(f"{self}: allowed are parameters with which a draw in [0, 1] has a chance above 0")
        return masses / masses.max()

    def _check(self, **parameters: float) -> None:
        for name, value in parameters.items():
            if not (is_real(value) and isfinite(value) and value > 0):
                raise ValueError(f"{name} = {value}: allowed are positive finite numbers")
        check_option("beyond", self.beyond, BEYOND)


@dataclass(frozen=True)
class IndexGamma(_IndexLaw):
    r"""Clients whose index, over the number of clients, follows a Gamma law.

    Draw u with density u^(k-1) exp(-u / theta) / (theta^k Gamma(k)), take client floor(u M), and repeat until
    ``cohort`` distinct clients are found (see `SuccessiveSampling`). With the paper's k = 10 and theta = 0.01, u has
    mean 0.1, and of 100 clients those around index 9 come most often. The law of a draw beyond 1 matters little
    there (a chance of 1e-31); the paper does not say what becomes of it. Readings:

    - ``beyond="redrawn"`` (ours): it is drawn again, so client i weighs the Gamma mass of [i/M, (i+1)/M].
    - ``beyond="last"``: it names the last client.

    Source: FAST, appendix B.1.3 b). The paper names the law and its parameters only; that it is a law of the index and
    that a round's clients are distinct is our reading of its Figure 2. For another one, in which each client's *weight*
    is a draw from the law, give such weights to ``Weighted``.

    Raises:
        ValueError: a parameter that is not positive and finite, or another reading; in `check`, if fewer than
            ``cohort`` clients have a mass that can be told from 0.

    >>> int(IndexGamma(1).inclusion(100).first.argmax())
    9
    """

    cohort: int
    shape: float = 10.0
    scale: float = 0.01
    beyond: str = "redrawn"

    def __post_init__(self) -> None:
        self._check(shape=self.shape, scale=self.scale)

    def _masses(self, clients: int) -> tuple[np.ndarray, float]:
        with np.errstate(over="ignore"):
            edges = np.arange(clients + 1) / (clients * self.scale)
        below, above = scipy.special.gammainc(self.shape, edges), scipy.special.gammaincc(self.shape, edges)
        # Differences of the smaller of the two tails: the others would be rounding noise where they are close to 1.
        masses = np.where(above[1:] < 0.5, above[:-1] - above[1:], below[1:] - below[:-1])
        return masses, float(above[-1])


@dataclass(frozen=True)
class IndexWeibull(_IndexLaw):
    r"""Clients whose index, over the number of clients, follows a Weibull law.

    As `IndexGamma`, with P(u > x) = exp(-(x / lambda)^k). With the paper's k = 10 and lambda = 1, a share 1/e = 37 % of
    the draws lies beyond 1, so the reading of those matters:

    - ``beyond="redrawn"`` (ours): they are drawn again; of 100 clients those around index 98 come most often.
    - ``beyond="last"``: they name the last client, who then takes part in nearly every round of ten.

    Source: FAST, appendix B.1.3 c); see `IndexGamma` for what is our reading.

    Raises:
        ValueError: as `IndexGamma`.

    >>> IndexWeibull(1, shape=1, scale=1, beyond="last").inclusion(2).first.round(12).tolist()  # 1 - e^-1/2
    [0.393469340287, 0.606530659713]
    """

    cohort: int
    shape: float = 10.0
    scale: float = 1.0
    beyond: str = "redrawn"

    def __post_init__(self) -> None:
        self._check(shape=self.shape, scale=self.scale)

    def _masses(self, clients: int) -> tuple[np.ndarray, float]:
        with np.errstate(over="ignore"):
            powers = (np.arange(clients + 1) / (clients * self.scale)) ** self.shape
        powers = np.minimum(powers, 1e4)  # exp(-1e4) is 0 already, and infinities have no differences
        return np.exp(-powers[:-1]) * -np.expm1(-np.diff(powers)), float(np.exp(-powers[-1]))
