"""Conclusions of a proof's last theorem, for Coq: on one round, and on many."""

from __future__ import annotations

from collections.abc import Mapping

from ..kernel.scalars import Scalar
from .lemma_writer import Factor, Piece
from .nested_sums import MEAN_GRADIENT, NEXT, ONE, OPTIMUM, START, Entry, Term
from .theorem_lemmas import Theorem


def _product(left: Term, right: Term) -> Entry:
    return ("product", "", *sorted((left, right)))


class Rounds(Theorem):
    """One-round bound E|x+ - x*|^2 <= P |x - x*|^2 + B, or E F(x+) <= F(x) - c |grad F(x)|^2 + B, and its conclusion
    over the rounds."""

    def concluded(self) -> bool:
        """Write the two theorems, and return whether the form is one of these bounds."""
        form = dict(self.line.form)
        here = set(form) - {ONE}
        pairs = ((START, START), (START, OPTIMUM), (OPTIMUM, OPTIMUM), (OPTIMUM, NEXT), (NEXT, NEXT))
        falls = {("value", "M", START[1]), ("value", "M", NEXT[1]), _product(MEAN_GRADIENT, MEAN_GRADIENT)}
        contracts = here == {_product(*pair) for pair in pairs}
        if self.line.context != "start" or self.line.equality or not (contracts or here == falls):
            return False
        (self._contraction if contracts else self._descent)(form)
        return True

    def _contraction(self, form: Mapping[Entry, Scalar]) -> None:
        w, minus = self.w, Factor(self.w.ring.number(-1))
        factor, addition = form[_product(START, START)], form.get(ONE, w.ring.number(0))
        p, b, below = (w.coefficient(c, w.stated) for c in (factor, addition, 1 - factor))
        right = [
            Piece((Factor(factor),), _product(START, START)),
            Piece((Factor(w.ring.number(-2)), Factor(factor)), _product(START, OPTIMUM)),
            Piece((Factor(factor),), _product(OPTIMUM, OPTIMUM)),
            Piece((minus,), _product(OPTIMUM, OPTIMUM)),
            Piece((minus,), _product(NEXT, NEXT)),
            Piece((Factor(w.ring.number(2)),), _product(OPTIMUM, NEXT)),
            Piece((Factor(addition),), ONE),
        ]
        square = "ip S (vsub (xp S) xs) (vsub (xp S) xs)"
        says = f"Es (fun S => {square}) <= {p} * ip [] (vsub x xs) (vsub x xs) + {b}"
        self._one_round(says, "rewrite next_distance, start_distance.", right)
        signs = [self._sign(*pair) for pair in ((factor, False), (1 - factor, True), (addition, False))]
        self._theorem(
            "all_rounds",
            self.region(),
            f"forall A0 : nat -> R, (forall r0, A0 (Datatypes.S r0) <= {p} * A0 r0 + {b}) ->\n"
            f"  forall r0, A0 r0 <= {p} ^ r0 * A0 0%nat + {b} / (1 - {p})",
            *w.divided([factor], self.line.where, False),
            f"assert (T : {p} < 1).",
            f"{{ apply (@difference_lt _ _ _ {signs[1]}). {w.unfold(below, p)}field; nonzero. }}",
            f"intros A0 H0. exact (contraction {signs[0]} T {signs[2]} H0).",
        )

    def _descent(self, form: Mapping[Entry, Scalar]) -> None:
        w, minus = self.w, Factor(self.w.ring.number(-1))
        fall, addition = -form[_product(MEAN_GRADIENT, MEAN_GRADIENT)], form.get(ONE, w.ring.number(0))
        c, b = (w.coefficient(s, w.stated) for s in (fall, addition))
        after, before = (w.entry_text(("value", "M", point[1]), self.line.level) for point in (NEXT, START))
        right = [
            Piece((), ("value", "M", START[1])),
            Piece((minus,), ("value", "M", NEXT[1])),
            Piece((minus, Factor(fall)), _product(MEAN_GRADIENT, MEAN_GRADIENT)),
            Piece((Factor(addition),), ONE),
        ]
        mean = "(osumv (mean clients) g_start)"
        self._one_round(f"{after} <= {before} - {c} * ip [] {mean} {mean} + {b}", "rewrite mean_squared.", right)
        self._theorem(
            "all_rounds",
            self.region(),
            f"forall (low0 : R) (A0 G0 : nat -> R), (forall r0, low0 <= A0 r0) ->\n"
            f"  (forall r0, A0 (Datatypes.S r0) <= A0 r0 - {c} * G0 r0 + {b}) ->\n"
            f"  forall r0, (0 < r0)%nat ->\n"
            f"  osum (mean (seq 0 r0)) G0 <= (A0 0%nat - low0) / ({c} * INR r0) + {b} / {c}",
            f"intros low0 A0 G0 H0 H1. exact (descent_mean {self._sign(fall, True)} H0 H1).",
        )

    def _sign(self, scalar: Scalar, strict: bool) -> str:
        return self.w.sign(scalar, self.line.where, strict, False)

    def _one_round(self, says: str, begin: str, right: list[Piece]) -> None:
        left, given = self.line.pieces(), self.region() | self.hypotheses(self.line)
        self.do(begin, f"apply (difference_le (thm_{self.line.number} {self.w.all_letters} {' '.join(given)})).")
        self.drop((piece.entry for piece in left), left, right)
        self._theorem("one_round", given, says, *self.script, "ring.")

    def _theorem(self, name: str, given: Mapping[str, str], says: str, *script: str) -> None:
        letters = self.w.all_letters
        assumed = "".join(f"{text} ->\n  " for text in given.values())
        self.w.add(
            f"Theorem {name} : forall {letters} : R,\n  {assumed}{says}.",
            f"Proof.\n  intros {letters} {' '.join(given)}.",
            *(f"  {step}" for step in script),
            "Qed.",
            "",
        )
