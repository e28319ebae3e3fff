"""Lemmas for Coq on products of vectors below binders: each states that a product is its canonical entry."""

from __future__ import annotations

from . import nest_proofs, nested_sums
from .lemma_writer import Writer
from .nested_sums import Entry, Term
from .scalar_text import NotExported

Level = str
"""Level at which a product of vectors is taken: "S", given the cohort; "nil", known at the start; "server"; or an
expectation, by its text."""


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
        factor, steps = nest_proofs.script(nest, "D", level not in ("nil", "server"))
        one = nested_sums.entry(nest)
        f, g = self.family(left), self.family(right)
        name, new = self.once(("paired", level, bound, left, right), "product_")
        indices = [x for x, binder in ((i, "MS"), (k, "K")) if not set(bound) & set(binder)]
        formals = [x for x, binder in (("i", "MS"), ("k", "K")) if not set(bound) & set(binder)]
        form, where, _ = self._form(level, bound, formals)
        actual, _, given = self._form(level, bound, indices)
        if new:
            self.add(
                f"Lemma {name} {where} : {form} {f} {g} = {'INR K * ' if factor else ''}{self.entry_text(one, level)}.",
                "Proof.",
                *self._pair_proof(level, bound, left, right, factor, steps, one),
                "Qed.",
            )
        return f"{actual} {f} {g}", f"({name}{given})", factor, one

    def _form(self, level: Level, bound: str, indices: list[str]) -> tuple[str, str, str]:
        """(the bilinear form, the variables of a lemma on it, its arguments)."""
        variables = " ".join(f"({x} : {'C' if x == 'i' else 'nat'})" for x in indices)
        given = "".join(f" {x}" for x in indices)
        if level == "S":
            return f"B_{bound} S{given}", f"S (D : drawn S) {variables}", f" S D{given}"
        if level in ("nil", "server"):
            return f"B_{bound} []{given}", variables, given
        if bound:
            raise NotExported("a square below binders, of vectors that are not known at the start")
        return f"B_E {level}{given}", variables, given

    def _pair_proof(
        self, level: Level, bound: str, left: Term, right: Term, factor: bool, steps: list[str], one: Entry
    ) -> list[str]:
        unfold = [f"B_{bound[start:]}" for start in range(len(bound) + 1)]
        lines = [f"  unfold {', '.join(unfold)}, {self.family(left)}, {self.family(right)}."]
        expand = nest_proofs.expansion(len(left[0]), len(right[0]), len(bound))
        if level not in ("S", "nil", "server"):
            if factor:
                raise NotExported("a sum over steps in an expectation")
            lines[0] = lines[0].replace("unfold ", "unfold B_E, ")
            exp = f"({_expectation(level)})"
            if nested_sums.entry_known(one):
                known = nested_sums.of(one).text()
                lines.append(f"  transitivity ({level} (fun _ => {known})); [|apply (e_const {exp})].")
            lines.append(f"  apply (e_ext {exp}). intros S.")
        elif level == "server":
            lines.append(f"  change ({self.entry_text(one, level)}) with {nested_sums.of(one).text('[]')}.")
        return lines + [f"  {line}" for line in expand + steps]

    def entry_text(self, one: Entry, level: Level, i: str = "i", k: str = "k") -> str:
        """Return an entry as it is stated at a level."""
        if one == nested_sums.ONE:
            return "1"
        nest = nested_sums.of(one)
        if nested_sums.entry_known(one):
            return nest.text("S", i, k)
        if level == "S":
            return nest.text("S", i, k)
        if level == "server":
            return f"(given server (fun S => {nest.text('S', i, k)}))"
        if level == "nil":
            raise NotExported(f"{one}: not known at the start")
        return f"({level} (fun S => {nest.text('S', i, k)}))"


def _expectation(level: Level) -> str:
    return "Es_exp" if level == "Es" else f"given_exp {level.split(' ')[1].rstrip(')')}"
