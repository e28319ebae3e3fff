"""Certificates: rational multipliers that prove a worst-case bound, checked without a solver."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..files import check_target, json_text, parsing, read_json, write_beside
from .exact_dual import Entries, Exact, Multipliers
from .exact_matrices import is_semidefinite
from .problem import Problem
from .saved_problems import entries, exact_text, problem_data, read_number, read_problem

WHAT, SCHEMA = "worst-case certificate", 1


class CertificateError(ValueError):
    """Error of a certificate whose multipliers do not prove its bound."""


@dataclass(frozen=True)
class Certificate:
    """Proof that for every federation of a class, every start and every zeta >= 0

        metric <= contraction |x_0 - x*|^2 + additive zeta^2,

    where zeta is the dissimilarity at x* (at the server's points too, if ``problem.everywhere``; 0, if it is 0 there).

    Attributes:
        problem: class, rounds and metric; its distance does not matter, its dissimilarity only whether it is 0.
        multipliers: without units; see ``exact_dual``.
    """

    problem: Problem
    multipliers: Multipliers = field(compare=False)

    @property
    def contraction(self) -> Fraction:
        """Factor tau of |x_0 - x*|^2, in the metric's units over x^2."""
        return self.multipliers.contraction * self._power

    @property
    def additive(self) -> Fraction:
        """Factor nu of zeta^2, in the metric's units over (F/x)^2."""
        return sum(self.multipliers.additive.values(), Fraction(0)) * self._power / self.problem.functions.smoothness**2

    @property
    def _power(self) -> Fraction:
        return self.problem.unit / self.problem.length**2

    def bound(self, *, distance: Any = 1, dissimilarity_at_optimum: Any = 0) -> float:
        """Return the right side at this distance and dissimilarity."""
        return float(
            self.contraction * Fraction(distance) ** 2 + self.additive * Fraction(dissimilarity_at_optimum) ** 2
        )

    @property
    def statement(self) -> str:
        """Return the proved bound as text."""
        zeta = f" + {float(self.additive):.9g} zeta^2" if self.multipliers.additive else ", where zeta = 0"
        return f"{self.problem.metric} <= {float(self.contraction):.9g} |x_0 - x*|^2{zeta}"

    def verify(self) -> None:
        """Check the proof in rational arithmetic: the matrices that the multipliers leave have to be positive
        semidefinite.

        Raises:
            CertificateError: it is none.
        """
        try:
            slack = Exact(self.problem).slack(self.multipliers)
        except ValueError as error:
            raise CertificateError(str(error)) from None
        for k, matrix in enumerate(slack):
            if not is_semidefinite(matrix):
                raise CertificateError(f"{self.statement}: matrix {k} of {len(slack)} is not positive semidefinite")

    def to_json(self) -> dict[str, Any]:
        """Return the certificate as plain data, with numbers as texts of Fractions."""
        power, L = self._power, self.problem.functions.smoothness
        given = self.multipliers
        return {
            "what": WHAT,
            "schema": SCHEMA,
            **problem_data(self.problem),
            "contraction": exact_text(self.contraction),
            "additive": [[p, o, exact_text(nu * power / L**2)] for (p, o), nu in sorted(given.additive.items())],
            "pairs": [[*at, exact_text(value)] for at, value in sorted(given.pairs.items())],
            "operators": [[[*at, exact_text(v)] for at, v in sorted(each.items())] for each in given.operators],
            "symmetric": [[[*at, exact_text(v)] for at, v in sorted(each.items())] for each in given.symmetric],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Certificate:
        """Read a certificate from plain data; ``verify`` says whether it is a proof.

        Raises:
            ValueError: it is none; the place is named.
        """
        problem = read_problem({key: value for key, value in data.items() if key not in _OWN}, data.get("additive"))
        if data.get("what") != WHAT or data.get("schema") != SCHEMA or type(data["schema"]) is not int:
            raise ValueError(
                f"what, schema = {data.get('what')!r}, {data.get('schema')!r}: allowed is {WHAT!r}, {SCHEMA}"
            )
        found = cls(problem, Multipliers(Fraction(0), {}))
        power, L = found._power, problem.functions.smoothness
        additive = {at: nu / power * L**2 for at, nu in entries("additive", data.get("additive"), 2).items()}
        return replace(
            found,
            multipliers=Multipliers(
                read_number("contraction", data.get("contraction")) / power,
                additive,  # type: ignore[arg-type]
                entries("pairs", data.get("pairs"), 3),  # type: ignore[arg-type]
                _each("operators", data.get("operators")),
                _each("symmetric", data.get("symmetric")),
            ),
        )

    def save(self, path: str | Path) -> None:
        """Write the certificate as JSON.

        Raises:
            ValueError: no file can be written there.
        """
        write_beside(check_target(path, ".json"), (json_text(self.to_json(), indent=1) + "\n").encode())

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read the certificate in a file.

        Raises:
            FileNotFoundError: there is no file. Damaged: it holds no certificate.
        """
        with parsing(path, "no certificate"):
            return cls.from_json(read_json(path))


_OWN = {"what", "schema", "contraction", "additive", "pairs", "operators", "symmetric"}


def _each(name: str, value: Any) -> list[Entries]:
    if not isinstance(value, list):
        raise ValueError(f"{name} = {value!r}: allowed is a list")
    return [entries(name, each, 2) for each in value]  # type: ignore[misc]
