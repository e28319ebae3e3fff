"""Proofs in Coq of the kernel's rules: each proves its conclusion from the lemmas of its premises."""

from __future__ import annotations

from collections.abc import Sequence

from ..kernel.forms import STEP, STEPS
from ..kernel.scalars import Scalar, power_sum
from . import nest_proofs, nested_sums
from .lemma_writer import COUNT, Factor, Piece, each_of
from .nested_sums import ONE, SOME, START, SUMS, Atom, Entry, Term
from .scalar_text import NotExported, read_scalar, scalar_text
from .theorem_lemmas import Line, Source, Theorem
from .vector_products import bilinear

Vector = list[tuple[Term, Scalar]]
_AT_0: dict[Atom, Atom] = {("x", True, (0, 0, 0)): START[1], ("g", True, (0, 0, 0)): ("g_start", True, ())}
"""The vectors of the round's start that a path's are at step 0."""


class Rules(Theorem):
    """Theorem that a rule makes from earlier ones."""

    def scalar(self, data: dict) -> Scalar:
        """Read a scalar of the saved proof."""
        return read_scalar(data, self.w.ring)

    def vector(self, data: list) -> Vector:
        """Read a vector of the saved proof."""
        return [(nested_sums.term_of(term), self.scalar(c)) for term, c in data]

    def premise(self, premise: Line, factor: Scalar) -> Source:
        """Return an earlier theorem as it is used here, times a factor."""
        return self.source(self.use(premise), premise.pieces(), premise.equality, factor)

    @property
    def i(self) -> str:
        """The client, or any, if the theorem is not on each."""
        return "i" if self.line.open("i") else "i0"

    @property
    def k(self) -> str:
        """The step, or any, if the theorem is not on each."""
        return "k" if self.stepped else "0%nat"

    # combine

    def combine(self) -> None:
        """Prove a sum of premises times multipliers, of squares, and of a constant."""
        given, line = self.line.arguments, self.line
        multipliers = [self.scalar(c) for c in given["multipliers"]]
        sources = [self.premise(p, c) for p, c in zip(line.premises, multipliers, strict=True)]
        for number, (vector, bound, data) in enumerate(given["squares"]):
            sources.append(self.square(f"Q{number}", self.vector(vector), "".join(sorted(bound)), self.scalar(data)))
        constant = self.scalar(given["constant"])
        if not constant.is_zero:
            sources.append(self.source("Rle_0_1", [Piece((), ONE)], False, constant))
        self.finish(line.pieces(), sources)

    def square(self, name: str, vector: Vector, bound: str, factor: Scalar) -> Source:
        """Prove 0 <= |v|^2 below binders, multiplied out."""
        if any(STEP in c.names for _, c in vector) and "K" in bound:
            raise NotExported("a square below a sum over steps, with a factor that depends on the step")
        known = "S" not in bound and all(nested_sums.at_start(t[1]) and "S" not in t[0] for t, _ in vector)
        level = "nil" if known else self.line.level
        texts = [f"({self.w.coefficient(c, self.w.stated)}, {self.w.family(t)})" for t, c in vector]
        rewrites, pieces = [], []
        for one, a in vector:
            for other, b in vector:
                _, proof, factored, entry = self.w.paired(level, bound, one, other, self.i, self.k)
                rewrites.append(proof)
                pieces.append(Piece((Factor(a), Factor(b), *([Factor(self.w.ring[STEPS])] if factored else [])), entry))
        self.do(
            f"pose proof (square_nonneg ({bilinear(level, bound, self.i, self.k)[1]}) [{'; '.join(texts)}]) as {name}.",
            f"unfold bil in {name}; cbn [rsum fst snd] in {name}.",
            f"rewrite {', '.join(rewrites)} in {name}.",
        )
        return self.source(name, pieces, False, factor)

    # means over clients, sums over steps

    def over_clients(self) -> None:
        """Prove the mean over clients of a premise that holds for every client."""
        (premise,), binder = self.line.premises, self.line.arguments["binder"]
        self._under(binder, f"mean_weight, {SOME[binder]}", f"intros i9 _. exact {self.use(premise, i='i9')}.")

    def over_steps(self) -> None:
        """Prove the sum over steps of a premise that holds for every step."""
        (premise,) = self.line.premises
        proof = self.use(premise, k="k9", below="I9")
        self._under("K", "steps_weight", f"intros k9 I9; apply in_steps in I9. exact {proof}.")

    def _under(self, binder: str, weight: str, inner: str) -> None:
        (premise,) = self.line.premises
        apply = "apply osum_null." if premise.equality else f"apply osum_nonneg; [apply {weight}|]."
        parts = []
        for entry, c in premise.form:
            whole, one, proof = self._summed(entry, c, binder)
            text = f"{self.w.coefficient(whole, self.w.stated)} * {self.w.entry_text(one, self.line.level)}"
            parts.append(([Piece((Factor(whole),), one)], text, proof))
        self.entry_by_entry(
            f"osum {SUMS[binder]} (fun {'k' if binder == 'K' else 'i'} => {self.form_text(premise)})",
            f"{apply} {inner}",
            "apply (f_equal2 Rplus).",
            parts,
            "rewrite !osum_add. ",
        )

    def entry_by_entry(
        self, whole: str, shown: str, step: str, parts: Sequence[tuple[list[Piece], str, str]], begin: str = ""
    ) -> None:
        """Prove the goal from the sum, or the expectation, of the premise, which is ``shown``: of every entry that is
        (pieces, their sum as text, the proof of it). ``begin`` and ``step`` take the last entry off."""
        equality = self.line.premises[0].equality
        pieces, texts, proofs = zip(*parts, strict=True)
        self.do(
            f"assert (Q : {f'{whole} = 0' if equality else f'0 <= {whole}'}).",
            f"{{ {shown} }}",
            f"assert (T : {whole} = {' + '.join(texts)}).",
            f"{{ {begin if len(parts) > 1 else ''}{each_of(step, proofs)} }}",
            "rewrite T in Q.",
        )
        self.finish(self.line.pieces(), [self.source("Q", [p for some in pieces for p in some], equality)])

    def _summed(self, entry: Entry, c: Scalar, binder: str) -> tuple[Scalar, Entry, str]:
        """(factor and entry of the sum of c times an entry, what proves that it is)."""
        if not nested_sums.open_in(entry, binder):
            if binder != "K":
                return c, entry, f"apply mean_const, {SOME[binder]}."
            whole, lemma = self._powers(c)
            own = self.w.entry_text(entry, self.line.level)
            return whole, entry, f"rewrite osum_factor. apply (f_equal (fun z => z * {own})). exact {lemma}."
        if binder == "K" and STEP in c.names:
            raise NotExported("a sum over steps of a vector with a factor that depends on the step")
        nest, text = nested_sums.below(binder, entry), self.w.coefficient(c, self.w.stated)
        proof = f"rewrite osum_scale. apply (f_equal (Rmult {text})). {nest_proofs.proof(nest)}"
        return c, nested_sums.entry(nest), proof

    def _powers(self, c: Scalar) -> tuple[Scalar, str]:
        """(the sum of a scalar over the steps, the proof that it is), by induction over how many there are."""
        w = self.w
        if STEP in c.bottom.names:
            raise NotExported("a sum over steps of a quotient by the step")
        parts = c.coefficients(STEP).items()
        partial = sum((part * power_sum(w.ring, power, COUNT) for power, part in parts), w.ring.number(0))
        whole = partial.replace({COUNT: w.ring[STEPS]})
        name, new = w.once(("powers", c), "powers_")
        known = w.divisors([c])
        if new:
            summed = f"fun n : R => {scalar_text(partial, {**w.stated, COUNT: 'n'})}"
            hypotheses = "".join(f"{scalar_text(factor, w.stated)} <> 0 -> " for factor in known)
            texts = w.coefficient(c, w.stated), w.coefficient(whole, w.stated)
            w.add(
                f"Lemma {name} ({w.all_letters} : R) : {hypotheses}osum (steps K) (fun k => {texts[0]}) = {texts[1]}.",
                f"Proof. intros. transitivity (({summed}) (INR K)).",
                f"  - apply (steps_by_induction (P := {summed})); "
                f"[|intros z9; generalize (INR z9); intros kr]; {w.unfold(texts[0])}"
                f"generalize dependent (INR K); intros; field; nonzero.",
                f"  - {w.unfold(texts[1])}cbv beta; field; nonzero.",
                "Qed.",
            )
        proofs = [w.nonzero(factor, self.line.where, False) for factor in known]
        return whole, f"({' '.join([name, w.all_letters, *proofs])})"

    # induction, the last step, other letters

    def induct(self) -> None:
        """Prove a form at every step by induction."""
        line, w = self.line, self.w
        (base, step), factor = line.premises, self.scalar(line.arguments["factor"])
        self.do("induction k as [|k IH].", "- change (INR 0) with 0.")
        first, later = [], []
        for entry, c in line.form:
            begun = self._at_start(entry) if nested_sums.open_in(entry, "K") else entry
            first.append(Piece((Factor(c, ((STEP, w.ring.number(0)),)),), begun))
            later.append(Piece((Factor(c, ((STEP, w.ring[STEP] + 1),)),), _moved(entry, 1, 0, 1)))
        start, inner = Rules(w, line), Rules(w, line)
        start.stepped = False
        start.finish(first, [start.source(start.use(base), base.pieces(), base.equality)])
        proof = inner.use(step, below="I")
        before = inner.source("(IH (Nat.lt_le_incl _ _ I))", line.pieces(), False, factor)
        inner.finish(later, [inner.source(proof, step.pieces(), step.equality), before])
        self.do(
            *(f"  {text}" for text in start.script),
            "- rewrite S_INR, (Rplus_comm (INR k) 1). change (Datatypes.S k) with (1 + k)%nat.",
            *(f"  {text}" for text in inner.script),
        )

    def _at_start(self, entry: Entry) -> Entry:
        """Rewrite an entry at step 0 as one of the round's start, which is returned."""
        if entry[0] != "product" or entry[1] or entry[2][0] or entry[3][0]:
            raise NotExported("an induction over steps of sums")
        if "P_local_lr" not in self.hypotheses(self.line):
            raise NotExported("an induction over the steps of no algorithm")
        begun = [_begun(t) for t in entry[2:]]
        nest = nested_sums.product("", *begun)
        old = nested_sums.of(entry).text("S", "i", "0")
        plain = " ".join(nested_sums.atom_text(t[1], "S", "i", "k") for t in begun)
        one, steps = nested_sums.entry(nest), " ".join(nest_proofs.script(nest, True))
        new = self.w.entry_text(one, "S")
        self.do(
            f"  assert (T : {old} = {new}).",
            f"  {{ unfold G; rewrite !(proj1 P_local_lr i). change (ip S {plain} = {new}). {steps} }}",
            "  rewrite T; clear T.",
        )
        return one

    def last_step(self) -> None:
        """Prove a premise at the step K."""
        (premise,) = self.line.premises
        values = {STEP: self.w.ring[STEPS]}
        pieces = [Piece(p.factors, _moved(p.entry, 0, 1, 0)) for p in premise.pieces(values)]
        proof = self.use(premise, k="K", below="(Nat.le_refl K)")
        self.finish(self.line.pieces(), [self.source(proof, pieces, premise.equality)])

    def instantiate(self) -> None:
        """Prove a premise with expressions for its letters."""
        (premise,) = self.line.premises
        values = {n: self.scalar(c) for n, c in self.line.arguments["values"].items()}
        proof = self.use(premise, values=values)
        self.finish(self.line.pieces(), [self.source(proof, premise.pieces(values), premise.equality)])


def _shifted(atom: Atom, a: int, b: int, c: int) -> Atom:
    name, client, step = atom
    if not step:
        return atom
    p, q, r = step
    return name, client, (p * a, q + p * b, r + p * c)


def _begun(term: Term) -> Term:
    """Return the term at step 0, where the path is at the round's start."""
    atom = _shifted(term[1], 0, 0, 0)
    if atom[2] and atom not in _AT_0:
        raise NotExported(f"{atom[0]} at step {atom[2]}")
    return term[0], _AT_0.get(atom, atom)


def _moved(entry: Entry, a: int, b: int, c: int) -> Entry:
    """Return the entry at the step a k + b K + c."""
    if entry == ONE or entry[0] == "value":
        return entry
    return ("product", entry[1], *((t[0], _shifted(t[1], a, b, c) if "K" not in t[0] else t[1]) for t in entry[2:]))
