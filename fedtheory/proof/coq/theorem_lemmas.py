"""Saved theorems as lemmas for Coq: the statement, the use of earlier lemmas, and the end of the proof."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from ..kernel.forms import STEP
from ..kernel.regions import Condition
from ..kernel.scalars import Ring, Scalar
from . import nested_sums
from .lemma_writer import Factor, Piece, pattern
from .nested_sums import Entry
from .scalar_text import Names, NotExported, halves, read_scalar, scalar_text
from .vector_products import File, Level

PREDICATES = frozenset({
    "smooth", "strongly_convex", "bounded_dissimilarity", "bounded_dissimilarity_at_optimum", "bounded_noise",
    "unbiased_noise", "uncorrelated_noise", "cohort_is_a_set", "uniform_cohorts", "random_kinds",
    "random_client_rounds", "unbiased_server_noise", "bounded_server_noise", "cohort_before_noise",
})  # fmt: skip
"""Assumptions that have a definition. That the cohort is drawn before the noise is part of the noise's."""
Values = Mapping[str, Scalar]
"""Expressions for letters."""
NO_VALUES: Values = MappingProxyType({})
_SIZES = {"uniform": "cohort", "arbitrary": "arbitrary_cohort"}


class Line:
    """Saved theorem."""

    def __init__(self, number: int, saved: Mapping, earlier: Sequence[Line], ring: Ring) -> None:
        self.number, self.rule, self.arguments = number, saved["rule"], saved["arguments"]
        self.premises = [earlier[i] for i in saved["premises"]]
        self.context, self.kind, self.where = saved["context"], saved["kind"], saved["where"]
        self.assumptions = [(n, None if c is None else read_scalar(c, ring)) for n, c in saved["assumptions"]]
        self.parameters = {n: read_scalar(c, ring) for n, c in saved["parameters"].items()}
        self.form = [(nested_sums.entry_of(entry), read_scalar(c, ring)) for entry, c in saved["form"]]
        self.equality, self.to_the_end = saved["equality"], saved["path_to_the_end"]

    @property
    def level(self) -> Level:
        """Level of its products: given a cohort, or an expectation."""
        if self.context == "cohort":
            return "S"
        if self.context == "kind":
            return "server" if self.kind == "server" else f"(given {self.kind})"
        return "Es"

    def open(self, index: str) -> bool:
        """Whether the client i, or the step k, is free in the theorem."""
        binder = "K" if index == STEP else "M"
        return any(nested_sums.open_in(entry, binder) or index in c.names & {STEP} for entry, c in self.form)

    def pieces(self, values: Values = NO_VALUES) -> list[Piece]:
        """Return the theorem's form as pieces, with expressions for letters."""
        given = tuple(sorted(values.items()))
        return [Piece((Factor(c, given),), entry) for entry, c in self.form]


Source = tuple[str, Sequence[Piece]]
"""Proof that a sum of pieces is >= 0, or = 0 in an equality, and these pieces."""


class Theorem:
    """Theorem on its way into the file."""

    def __init__(self, writer: File, line: Line) -> None:
        self.w, self.line = writer, line
        self.script: list[str] = []
        self.stepped = line.open("k")

    def do(self, *lines: str) -> None:
        """Add lines to the proof's script."""
        self.script += lines

    # the statement

    def form_text(self, line: Line) -> str:
        """Return a form as text."""
        parts = [f"{self.w.coefficient(c, self.w.stated)} * {self.w.entry_text(e, line.level)}" for e, c in line.form]
        return " + ".join(parts) or "0"

    def assumed(self, line: Line) -> list[tuple[str, str, Scalar | None]]:
        """Return (label, predicate, constant) of each assumption of a theorem beyond its region."""
        found = []
        for name, constant in line.assumptions:
            if name not in PREDICATES:
                raise NotExported(f"assumption {name!r}: there is no export of it")
            given = line.parameters["share"] if name == "uniform_cohorts" else constant
            if name != "cohort_before_noise":
                found.append((self.label(name, constant), name, given))
        for name, value in sorted(line.parameters.items()):
            if predicate := _parameter(name, line):
                found.append((f"P_{name}", predicate, value))
        return found

    def hypotheses(self, line: Line) -> dict[str, str]:
        """Return the statement of each assumption of a theorem beyond its region, by its label."""
        return {
            label: predicate if constant is None else f"{predicate} {self.w.coefficient(constant, self.w.stated)}"
            for label, predicate, constant in self.assumed(line)
        }

    def region(self) -> dict[str, str]:
        """Return the statement of the theorem's region, by its label."""
        return {f"R{self.line.where}": f"region_{self.line.where} {self.w.all_letters} (INR K)"}

    def label(self, name: str, constant: Scalar | None) -> str:
        """Return the label of an assumption with this constant."""
        return self.w.once(("assumption", name, constant), "A_")[0]

    def write(self) -> None:
        """Write the lemma, after its proof's script is made."""
        line, w = self.line, self.w
        given = self.region() | self.hypotheses(line)
        names, head = [*given], f"Lemma thm_{line.number} : forall {w.all_letters} : R,\n  "
        head += " -> ".join(given.values()) + " ->\n  "
        if line.context == "cohort":
            head, names = head + "forall S, drawn S -> ", [*names, "S", "D"]
            if "size" in line.parameters:
                head += f"INR (length S) = {w.coefficient(line.parameters['size'], w.stated)} -> "
                names.append("Z")
        if line.open("i"):
            head, names = head + "forall i : C, ", [*names, "i"]
        if self.stepped:
            head += f"forall k : nat, (k {'<=' if line.to_the_end else '<'} K)%nat -> "
            names += ["k", "I"]
        form = self.form_text(line)
        of = f" of {', '.join(str(p.number) for p in line.premises)}" if line.premises else ""
        w.add(
            f"(* {line.rule}{of} *)",
            head + (f"{form} = 0." if line.equality else f"0 <= {form}."),
            "Proof.",
            f"  intros {w.all_letters} {' '.join(names)}.",
            *(f"  {step}" for step in self.script),
            "Qed.",
            "",
        )

    # earlier theorems

    def use(self, premise: Line, i: str = "i", k: str = "k", below: str = "", values: Values = NO_VALUES) -> str:
        """Return the proof of an earlier theorem in this one, with expressions for letters; ``below`` proves that k is
        less than K (else at most K)."""
        own, at = self.hypotheses(self.line), self._put(values)
        parts = [f"thm_{premise.number}", " ".join(at[n] for n in self.w.letters), self.admitted(premise, values)]
        for number, (label, predicate, constant) in enumerate(self.assumed(premise)):
            if label == "P_size" and self.line.context == "start" and premise.kind in _SIZES:
                label = f"P_{_SIZES[premise.kind]}"
            elif constant and not label.startswith("P_") and predicate != "uniform_cohorts":
                label = self.label(predicate, constant.replace(values))
            if label not in own:
                raise NotExported(f"theorem {premise.number}: {predicate} is not assumed where it is used")
            parts.append(self._cast(f"H{number}", label, predicate, constant, values) if constant else label)
        if premise.context == "cohort":
            parts.append(self._cohort(premise, values))
        return f"({' '.join([*parts, *self.indices(premise, i, k, below)])})"

    def _put(self, values: Values) -> Names:
        """The texts of letters, with expressions for some."""
        return {**self.w.stated, **{n: f"({scalar_text(c, self.w.stated)})" for n, c in values.items()}}

    def _cast(self, name: str, label: str, predicate: str, constant: Scalar, values: Values) -> str:
        """The proof of a hypothesis of a premise, whose constant may be written otherwise here."""
        old = self.w.coefficient(constant, self._put(values))
        new = self.w.coefficient(constant.replace(values), self.w.stated)
        if old == new:
            return label
        self.do(
            f"assert ({name} : {predicate} {old}).",
            f"{{ replace ({old}) with ({new}) by (try reflexivity; "
            f"{self.w.unfold(old, new)}field; nonzero). exact {label}. }}",
        )
        return name

    def _cohort(self, premise: Line, values: Values) -> str:
        if self.line.context != "cohort" and not self.line.rule.startswith("expect "):
            raise NotExported(f"theorem {premise.number}: given a cohort, used where there is none")
        if "size" not in premise.parameters:
            return "S D"
        size = premise.parameters["size"]
        if self.line.parameters.get("size") != size.replace(values):
            raise NotExported(f"theorem {premise.number}: of cohorts of another size")
        return f"S D {self._cast('HZ', 'Z', 'INR (length S) =', size, values)}"

    def indices(self, premise: Line, i: str, k: str, below: str) -> list[str]:
        """Return the client and the step, with the proof of its range, to which a premise is applied."""
        found = []
        if premise.open("i"):
            found.append(i if i != "i" or self.line.open("i") else "i0")
        if premise.open("k"):
            if not below:
                if not self.stepped:
                    raise NotExported(f"theorem {premise.number}: for every step, used where there is none")
                at_most = self.line.to_the_end
                below = "I" if at_most == premise.to_the_end else "(Nat.lt_le_incl _ _ I)"
            elif premise.to_the_end and k != "K":
                below = f"(Nat.lt_le_incl _ _ {below})"
            found += [k, below]
        return found

    def admitted(self, premise: Line, values: Values) -> str:
        """Return the proof that the region here, with expressions for letters, is in a premise's region."""
        w, mine = self.w, self.line.where
        if premise.where == mine and not values:
            return f"R{mine}"
        name, new = w.once(("admitted", mine, premise.where, tuple(sorted(values.items()))), "admitted_")
        if new:
            conditions = w.regions[premise.where].conditions
            at = {**w.real, **{n: f"({scalar_text(v, w.real)})" for n, v in values.items()}}
            goal = " ".join(at[n] for n in w.letters)
            script = [
                f"  assert (H_{c.name} : {condition_text(c, at)}).\n  {{ {self._condition(c, values)} }}"
                for c in conditions
            ]
            w.add(
                f"Lemma {name} ({w.all_letters} Kr kr : R) : region_{mine} {w.all_letters} Kr -> "
                f"region_{premise.where} {goal} Kr.",
                f"Proof.\n  intros R0. pose proof (facts_{mine} {w.all_letters} Kr R0) as "
                f"{pattern('F_', w.regions[mine].conditions)}.",
                *(f"  {line}" for line in w.divided(values.values(), mine, None)),
                f"  pose proof R0 as {pattern('C_', w.regions[mine].conditions)}.",
                *script,
                f"  unfold region_{premise.where}. repeat split; "
                f"first [{' | '.join(['assumption', *(f'apply H_{c.name}' for c in conditions)])}].",
                "Qed.",
            )
        return f"({name} {w.all_letters} (INR K) 0 R{mine})"

    def _condition(self, c: Condition, values: Values) -> str:
        w, mine, proofs = self.w, self.line.where, []
        if not values and c in w.regions[mine].conditions:
            return f"exact C_{c.name}."
        for scalar, strict in c.polynomials(w.ring):
            changed = scalar.replace(values)
            proofs.append(
                f"apply (@difference_{'lt' if strict else 'le'} _ _ _ {w.sign(changed, mine, strict, None)}); "
                f"{w.unfold(w.coefficient(changed, w.real))}field; nonzero."
            )
        return proofs[0] if len(proofs) == 1 else "split. " + " ".join(f"{{ {p} }}" for p in proofs)

    # the end of a proof

    def source(self, proof: str, pieces: Sequence[Piece], equality: bool, factor: Scalar | None = None) -> Source:
        """Return the proof that a sum of pieces is >= 0, or = 0 (``equality``), as it is used here, times a factor."""
        if factor is not None and factor != 1:
            pieces = [Piece((Factor(factor), *p.factors), p.entry) for p in pieces]
            if equality:
                proof = f"(times_null {self.w.coefficient(factor, self.w.stated)} {proof})"
            else:
                sign = self.w.sign(factor, self.line.where, False, self.stepped)
                proof = f"(Rmult_le_pos _ _ {sign} {proof})"
        return f"(null_le {proof})" if equality and not self.line.equality else proof, pieces

    def finish(self, left: Sequence[Piece], sources: Sequence[Source], but: Collection[Entry] = ()) -> None:
        """Prove the goal from the sources: for every entry, their coefficients sum to the goal's. But for some entries
        that is not asked, as they are the same as they are written."""
        equality = self.line.equality
        whole = sources[0][0] if sources else ("(eq_refl 0)" if equality else "(Rle_refl 0)")
        for proof, _ in sources[1:]:
            whole = f"(plus_null {whole} {proof})" if equality else f"(Rplus_le_le_0_compat _ _ {whole} {proof})"
        self.do(f"apply ({'eq0' if equality else 'le0'} {whole}).")
        right = [piece for _, pieces in sources for piece in pieces]
        self.drop([p.entry for p in [*left, *right] if p.entry not in but], left, right)
        self.do("ring.")

    def drop(self, entries: Iterable[Entry], left: Sequence[Piece], right: Sequence[Piece]) -> None:
        """Take entries whose coefficients are the same on both sides of an equation off it."""
        w = self.w
        for entry in dict.fromkeys(entries):
            sides = [[p for p in side if p.entry == entry] for side in (left, right)]
            real = [w.sum_of(side, w.real) for side in sides]
            if real[0] != real[1]:
                dividing = [scalar for side in sides for p in side for f in p.factors for scalar in _dividing(f)]
                proof = w.identity_at(real[0], real[1], dividing, self.line.where, self.stepped)
                stated = [w.sum_of(side, w.stated) for side in sides]
                text = w.entry_text(entry, self.line.level)
                self.do(f"apply (@drop ({stated[0]}) ({stated[1]}) {text} _ _ {proof}).")


def _dividing(factor: Factor) -> list[Scalar]:
    """Scalars whose denominators are all that a factor divides by."""
    values = dict(factor.values)
    return [1 / halves(factor.scalar)[1].replace(values), *values.values()]


def _parameter(name: str, line: Line) -> str:
    """The predicate of a parameter of the algorithm, if it has one of its own."""
    if name in ("local_lr", "server_lr"):
        return name
    if name in _SIZES.values():
        return f"sized {next(kind for kind, size in _SIZES.items() if size == name)}"
    if name == "size" and line.context == "kind":
        return f"sized {line.kind}"
    if name in ("size", "share", "probability", "client_round_probability"):
        return ""
    raise NotExported(f"parameter {name!r}: there is no export of it")


def condition_text(c: Condition, at: Mapping[str, str]) -> str:
    """Return a condition on a letter as text for Coq."""
    x = at[c.name]
    if c.kind in ("positive", "nonnegative", "count"):
        return {"positive": f"0 < {x}", "nonnegative": f"0 <= {x}", "count": f"1 <= {x}"}[c.kind]
    assert c.bound
    bound = f"({scalar_text(c.bound, at)})"
    if c.kind == "at_least":
        return f"{bound} <= {x}"
    return f"(0 {'<' if c.kind == 'capped' else '<='} {x} /\\ {x} <= {bound})"
