"""Lemmas for Coq on products of vectors below binders: each states that a product is its canonical entry."""

from __future__ import annotations

from . import nest_proofs, nested_sums
from .lemma_writer import Writer
from .nested_sums import Entry, Term
from .scalar_text import NotExported

Level = str
"""Level at which a product of vectors is taken: "S", given the cohort; "nil", known at the start; "server"; or an
expectation, by its text."""

COHORTS = {"S": "S", "nil": "[]", "server": "[]"}
"""Cohort of a level's products; an expectation has none."""


def expectation(level: Level) -> str:
    """Return the proof that a level is an expectation."""
    return "Es_exp" if level == "Es" else level.replace("given", "given_exp")


def bilinear(level: Level, bound: str, i: str, k: str) -> tuple[str, str, str]:
    """Return the bilinear form of a level below binders, the lemma that it is one, and the indices of both."""
    given = "".join(f" {x}" for x, binders in ((i, "MS"), (k, "K")) if not set(bound) & set(binders))
    if level in COHORTS:
        drawn = " D" if "S" in bound else ""
        lemma = f"@bilinear_{bound or 'one'} {COHORTS[level]}{given}{drawn}"
        return f"B_{bound} {COHORTS[level]}{given}", lemma, given
    if bound:
        raise NotExported("a square below binders, of vectors that are not known at the start")
    return f"B_E {level}{given}", f"@bilinear_E {level} {expectation(level)}{given}", given


class File(Writer):
    """File that grows, with the vectors and their products."""

    def family(self, term: Term) -> str:
        """Define a term as a family of vectors, once, and return its name."""
        name, new = self.once(("family", term), "f")
        if new:
            self.add(f"Definition {name} : fam := {nested_sums.family_text(term)}.")
        return name

    def paired(self, level: Level, bound: str, left: Term, right: Term, i: str, k: str) -> tuple[str, str, bool, Entry]:
        """Return (a product of two vectors below binders, the proof that it is its entry, whether that has a factor K,
        the entry)."""
        nest = nested_sums.product(bound, left, right)
        factor, one = nest_proofs.counts_steps(nest), nested_sums.entry(nest)
        vectors = f"{self.family(left)} {self.family(right)}"
        name, new = self.once(("paired", level, bound, left, right), "product_")
        drawn = ("S (D : drawn S) ", " S D") if level == "S" else ("", "")
        form, _, given = bilinear(level, bound, i, k)
        if new:
            own, _, names = bilinear(level, bound, "i", "k")
            where = " ".join(f"({x} : {'C' if x == 'i' else 'nat'})" for x in names.split())
            entry = self.entry_text(one, level)
            self.add(
                f"Lemma {name} {drawn[0]}{where} : {own} {vectors} = {'INR K * ' if factor else ''}{entry}.",
                "Proof.",
                *self._pair_proof(level, bound, left, right, one),
                "Qed.",
            )
        return f"{form} {vectors}", f"({name}{drawn[1]}{given})", factor, one

    def _pair_proof(self, level: Level, bound: str, left: Term, right: Term, one: Entry) -> list[str]:
        forms = [*([] if level in COHORTS else ["B_E"]), *(f"B_{bound[start:]}" for start in range(len(bound) + 1))]
        lines = [f"unfold {', '.join([*forms, self.family(left), self.family(right)])}."]
        if level not in COHORTS:
            if nested_sums.entry_known(one):
                known = nested_sums.of(one).text()
                lines.append(f"transitivity ({level} (fun _ => {known})); [|apply (e_const {expectation(level)})].")
            lines.append(f"apply (e_ext {expectation(level)}). intros S.")
        elif level == "server":
            lines.append(f"change ({self.entry_text(one, level)}) with {nested_sums.of(one).text('[]')}.")
        sides = "l" * len(left[0]) + "r" * len(right[0])
        lines += [f"below {number} (apply ip_osum_{side})." for number, side in enumerate(sides, len(bound))]
        nest = nested_sums.product(bound, left, right)
        return [f"  {line}" for line in lines + nest_proofs.script(nest, level not in ("nil", "server"))]

    def entry_text(self, one: Entry, level: Level, i: str = "i", k: str = "k") -> str:
        """Return an entry as it is stated at a level."""
        if one == nested_sums.ONE:
            return "1"
        text = nested_sums.of(one).text("S", i, k)
        if nested_sums.entry_known(one) or level == "S":
            return text
        if level == "nil":
            raise NotExported(f"{one}: not known at the start")
        return f"(given server (fun S => {text}))" if level == "server" else f"({level} (fun S => {text}))"
