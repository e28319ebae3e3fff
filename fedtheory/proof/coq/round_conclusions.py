"""Conclusions of a proof's last theorem, for Coq: on one round, and on many."""

from __future__ import annotations

from collections.abc import Mapping

from ..kernel.scalars import Scalar
from .lemma_writer import Factor, Piece
from .nested_sums import ONE, Entry, Term
from .theorem_lemmas import Line, Theorem
from .vector_products import File

START, OPTIMUM, NEXT = ("x", False, ()), ("x*", False, ()), ("x+", False, ())
_X, _XS, _NEXT, _GRADIENT = (("", START), ("", OPTIMUM), ("", NEXT), ("M", ("g_start", True, ())))


def _product(left: Term, right: Term) -> Entry:
    return ("product", "", *sorted((left, right)))


class Rounds(Theorem):
    """One-round bound E|x+ - x*|^2 <= P |x - x*|^2 + B, or E F(x+) <= F(x) - c |grad F(x)|^2 + B, and its conclusion
    over the rounds."""

    def __init__(self, writer: File, line: Line, suffix: str = "") -> None:
        super().__init__(writer, line)
        self.suffix = suffix
        """Of the theorems' names, where a file has several last theorems."""

    def write(self) -> None:
        form = dict(self.line.form)
        here = set(form) - {ONE}
        if self.line.context != "start" or self.line.equality:
            return
        if here == {_product(a, b) for a, b in ((_X, _X), (_X, _XS), (_XS, _XS), (_XS, _NEXT), (_NEXT, _NEXT))}:
            self._contraction(form)
        elif here == {("value", "M", START), ("value", "M", NEXT), _product(_GRADIENT, _GRADIENT)}:
            self._descent(form)

    def _contraction(self, form: Mapping[Entry, Scalar]) -> None:
        w, minus = self.w, Factor(self.w.ring.number(-1))
        factor, addition = form[_product(_X, _X)], form.get(ONE, w.ring.number(0))
        p, b = (w.coefficient(c, w.stated) for c in (factor, addition))
        square = "ip S (vsub (xp S) xs) (vsub (xp S) xs)"
        left = [Piece((Factor(c),), entry) for entry, c in form.items()]
        right = [
            Piece((Factor(factor),), _product(_X, _X)),
            Piece((Factor(w.ring.number(-2)), Factor(factor)), _product(_X, _XS)),
            Piece((Factor(factor),), _product(_XS, _XS)),
            Piece((minus,), _product(_XS, _XS)),
            Piece((minus,), _product(_NEXT, _NEXT)),
            Piece((Factor(w.ring.number(2)),), _product(_XS, _NEXT)),
            *([Piece((Factor(addition),), ONE)] if ONE in form else []),
        ]
        says = f"Es (fun S => {square}) <= {p} * ip [] (vsub x xs) (vsub x xs) + {b}"
        self._one_round(says, "rewrite next_distance, start_distance.", left, right)
        signs = [(factor, False), (1 - factor, True), (addition, False)]
        rate = f"({self._sign(*signs[0])})", f"({self._sign(*signs[1])})", f"({self._sign(*signs[2])})"
        below = w.coefficient(1 - factor, w.stated)
        self._many(
            f"forall A0 : nat -> R, (forall r0, A0 (Datatypes.S r0) <= {p} * A0 r0 + {b}) ->\n"
            f"  forall r0, A0 r0 <= {p} ^ r0 * A0 0%nat + {b} / (1 - {p})",
            f"assert (T : {p} < 1).",
            f"{{ apply (@difference_lt _ _ _ {rate[1]}). {w.unfold(below, p)}{self._field(factor)} }}",
            f"intros A0 H0. exact (contraction {rate[0]} T {rate[2]} H0).",
            divisors=[factor],
        )

    def _descent(self, form: Mapping[Entry, Scalar]) -> None:
        w, minus = self.w, Factor(self.w.ring.number(-1))
        fall, addition = -form[_product(_GRADIENT, _GRADIENT)], form.get(ONE, w.ring.number(0))
        c, b = (w.coefficient(s, w.stated) for s in (fall, addition))
        values = [w.entry_text(("value", "M", point), self.line.level) for point in (NEXT, START)]
        mean = "(osumv (mean clients) g_start)"
        left = [Piece((Factor(s),), entry) for entry, s in form.items()]
        right = [
            Piece((), ("value", "M", START)),
            Piece((minus,), ("value", "M", NEXT)),
            Piece((minus, Factor(fall)), _product(_GRADIENT, _GRADIENT)),
            *([Piece((Factor(addition),), ONE)] if ONE in form else []),
        ]
        says = f"{values[0]} <= {values[1]} - {c} * ip [] {mean} {mean} + {b}"
        self._one_round(says, "rewrite mean_squared.", left, right)
        self._many(
            f"forall (low0 : R) (A0 G0 : nat -> R), (forall r0, low0 <= A0 r0) ->\n"
            f"  (forall r0, A0 (Datatypes.S r0) <= A0 r0 - {c} * G0 r0 + {b}) ->\n"
            f"  forall r0, (0 < r0)%nat ->\n"
            f"  osum (mean (seq 0 r0)) G0 <= (A0 0%nat - low0) / ({c} * INR r0) + {b} / {c}",
            f"intros low0 A0 G0 H0 H1. exact (descent_mean {self._sign(fall, True)} H0 H1).",
        )

    def _sign(self, scalar: Scalar, strict: bool) -> str:
        return self.w.sign(scalar, self.line.where, strict, False)

    def _field(self, scalar: Scalar) -> str:
        return "field; nonzero." if self.w.divisors([scalar]) else "field."

    def _one_round(self, says: str, begin: str, left: list[Piece], right: list[Piece]) -> None:
        w, line = self.w, self.line
        before = [f"region_{line.where} {w.all_letters} (INR K)", *(text for _, text in self.hypotheses(line))]
        names = [f"R{line.where}", *(name for name, _ in self.hypotheses(line))]
        for entry in dict.fromkeys(piece.entry for piece in left):
            self._drop(entry, [[p for p in side if p.entry == entry] for side in (left, right)])
        w.add(
            f"Theorem one_round{self.suffix} : forall {w.all_letters} : R,\n  " + " ->\n  ".join([*before, says]) + ".",
            f"Proof.\n  intros {w.all_letters} {' '.join(names)}. {begin}",
            f"  apply (difference_le (thm_{line.number} {w.all_letters} {' '.join(names)})).",
            *(f"  {step}" for step in self.script),
            "  ring.\nQed.",
            "",
        )

    def _many(self, says: str, *script: str, divisors: list[Scalar] | None = None) -> None:
        w, where = self.w, self.line.where
        facts = w.divided(divisors or [], where, False)
        w.add(
            f"Theorem all_rounds{self.suffix} : forall {w.all_letters} : R,\n"
            f"  region_{where} {w.all_letters} (INR K) ->\n  {says}.",
            f"Proof.\n  intros {w.all_letters} R{where}.",
            *(f"  {step}" for step in [*facts, *script]),
            "Qed.",
            "",
        )
