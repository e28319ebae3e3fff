"""Parts of a Coq file that all rules write: definitions of coefficients and vectors, identities, signs, and products in
canonical form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..kernel.forms import STEP, STEPS
from ..kernel.regions import Condition
from ..kernel.scalars import Ring, Scalar
from .nested_sums import Entry
from .scalar_text import Monomial, Names, NotExported, Terms, halves, nested_text, polynomial_text, scalar_text
from .sign_certificates import Certificate, Region, cases, parameter, rest

TAKEN = frozenset({
    "Kr", "kr", "K", "k", "R", "x", "xs", "xp", "X", "N", "Ns", "G", "V", "C", "S", "E", "D", "Z", "I", "B", "drawn",
    "start", "before", "known", "val", "grad", "cm", "given", "clients", "ip", "op", "fam", "kind", "steps", "mean",
    "server", "uniform", "arbitrary", "smooth", "pos", "optimum", "optimal", "in", "at", "as", "fun", "let", "if",
    "then", "else", "end", "forall", "exists", "match", "with", "return", "Type", "Prop", "Set",
})  # fmt: skip
"""Names of the prelude and of Coq that are no letters of a file; k and K are the step and the number of steps."""
COUNT = "n_"
"""The letter of how many steps are summed, in a proof by induction over them."""
INLINE = 14
"""Length in characters up to which a coefficient stands where it is used; a longer one gets a name."""


class Factor(NamedTuple):
    """Scalar with expressions for some of its letters."""

    scalar: Scalar
    values: tuple[tuple[str, Scalar], ...] = ()


class Piece(NamedTuple):
    """Product of factors, the coefficient of an entry."""

    factors: tuple[Factor, ...]
    entry: Entry


class Writer:
    """File that grows, with the parts that are already in it."""

    def __init__(self, names: list[str]) -> None:
        self.regions: list[Region] = []
        self.lines: list[str] = []
        self._made: dict[object, str] = {}
        self.letters = [n for n in names if n not in (STEP, STEPS)]
        self.coq = {n: self._safe(n) for n in self.letters}
        self.real: Names = {**self.coq, STEPS: "Kr", STEP: "kr"}
        self.stated: Names = {**self.coq, STEPS: "INR K", STEP: "INR k"}
        parameters = (f"{of}_{name}" for name in [*self.letters, STEPS] for of in "uv")
        self.ring = Ring(" ".join(dict.fromkeys([*names, STEP, STEPS, COUNT, *parameters])))

    def _safe(self, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
            raise NotExported(f"name {name!r}: allowed is a letter, then letters, digits and _")
        taken = name in TAKEN or re.fullmatch(r"([uv]_.*)|([A-Z]_.*)|([A-Za-z]+[0-9]+)|(.*_)", name)
        return f"{name}_" if taken else name

    @property
    def all_letters(self) -> str:
        """Names in Coq of all letters, joined by spaces."""
        return " ".join(self.coq[n] for n in self.letters)

    def add(self, *lines: str) -> None:
        """Add lines to the file."""
        self.lines += lines

    def once(self, key: object, prefix: str) -> tuple[str, bool]:
        """Return a name for the part with this key, and whether it is new."""
        if key in self._made:
            return self._made[key], False
        self._made[key] = name = f"{prefix}{len(self._made)}"
        return name, True

    # scalars

    def coefficient(self, scalar: Scalar, at: Names) -> str:
        """Return a scalar as a factor, with texts for its letters."""
        text = scalar_text(scalar, self.real)
        if len(text) <= INLINE and "/" not in text:
            inside = scalar_text(scalar, at)
            return inside if re.fullmatch(r"\w+", inside) else f"({inside})"
        name, new = self.once(("coefficient", scalar), "c")
        used = [n for n in [*self.letters, STEPS, STEP] if n in scalar.names]
        if new:
            binder = f" ({' '.join(self.real[n] for n in used)} : R)" if used else ""
            self.add(f"Definition {name}{binder} : R := {text}.")
        given = [at[n] if re.fullmatch(r"\w+", at[n]) else f"({at[n]})" for n in used]
        return f"({' '.join([name, *given])})" if given else name

    def factor(self, factor: Factor, at: Names) -> str:
        """Return a factor as text, with texts for its letters."""
        inner = {name: scalar_text(value, at) for name, value in factor.values}
        return self.coefficient(factor.scalar, {**at, **inner})

    def sum_of(self, pieces: Iterable[Piece], at: Names) -> str:
        """Return the sum of the pieces' coefficients as text."""
        parts = []
        for piece in pieces:
            texts = [text for f in piece.factors if (text := self.factor(f, at)) != "1"]
            parts.append(" * ".join(texts) or "1")
        return " + ".join(parts) or "0"

    def unfold(self, *texts: str) -> str:
        """Return the tactic that unfolds all named coefficients in these texts."""
        names = sorted({n for text in texts for n in re.findall(r"\bc\d+\b", text)}, key=lambda n: int(n[1:]))
        return f"unfold {', '.join(names)}; " if names else ""

    def identity_at(self, left: str, right: str, scalars: list[Scalar], region: int, stepped: bool) -> str:
        """Return the proof, in a theorem on a region, of left = right for texts that divide by what these scalars do:
        write it as a lemma over the reals, once."""
        divisors = self.divisors(scalars)
        name, new = self.once(("identity", left, right), "identity_")
        if new:
            hypotheses = "".join(f"{scalar_text(divisor, self.real)} <> 0 -> " for divisor in divisors)
            close = "ring" if all(halves(scalar)[1] == 1 for scalar in scalars) else "field; nonzero"
            self.add(
                f"Lemma {name} ({self.all_letters} Kr kr : R) : {hypotheses}{left} = {right}.",
                f"Proof. intros. {self.unfold(left, right)}{close}. Qed.",
            )
        k = "(INR k)" if stepped else "0"
        proofs = [self.nonzero(divisor, region, stepped) for divisor in divisors]
        return f"({' '.join([name, self.all_letters, '(INR K)', k, *proofs])})"

    def divisors(self, scalars: Iterable[Scalar]) -> list[Scalar]:
        """Return what has to differ from 0 so that all denominators do: letters, and polynomials of more terms."""
        found = set()
        for scalar in scalars:
            bottom = halves(scalar)[1]
            found |= {self.ring[n] for n in bottom.names} if len(bottom.numerator) == 1 else {bottom}
        return sorted(found, key=lambda divisor: scalar_text(divisor, self.real))

    # signs

    def sign(self, scalar: Scalar, region: int, strict: bool, stepped: bool | None) -> str:
        """Return the proof that a scalar is >= 0 (> 0 where strict), which is a lemma, once: in a theorem on a region,
        which may be on every step, or, where ``stepped`` is None, in a lemma over the reals."""
        key = ("sign", scalar, region, strict)
        if key not in self._made:
            lines = self._sign_proof(scalar, region, strict)
            name, _ = self.once(key, "sign_")
            stated = self.coefficient(scalar, self.real)
            self.add(
                self._on_region(name, scalar, region, f"0 {'<' if strict else '<='} {stated}"),
                f"Proof. {self.unfold(stated).replace('; ', '.')}",
                f"  intros R0{_on_steps(scalar)}.",
                *(f"  {line}" for line in lines),
                "Qed.",
            )
        return self._at(self._made[key], scalar, region, stepped)

    def nonzero(self, scalar: Scalar, region: int, stepped: bool | None) -> str:
        """Return the proof that a divisor is not 0, where ``sign`` says."""
        for sign in (1, -1):
            try:
                positive = self.sign(scalar * sign, region, True, None)
            except NotExported:
                continue
            name, new = self.once(("nonzero", scalar, region), "nonzero_")
            if new:
                own, signed = (scalar_text(each, self.real) for each in (scalar, scalar * sign))
                self.add(
                    self._on_region(name, scalar, region, f"{own} <> 0"),
                    f"Proof. intros R0{_on_steps(scalar)}.",
                    f"  assert (P : 0 < {signed}) by exact {positive}.",
                    f"  replace ({signed}) with ({sign} * ({own})) in P by ring. lra. Qed.",
                )
            return self._at(name, scalar, region, stepped)
        raise NotExported(f"{scalar_text(scalar, {})}: not seen to differ from 0")

    def _at(self, lemma: str, scalar: Scalar, region: int, stepped: bool | None) -> str:
        if stepped is None:
            return f"({lemma} {self.all_letters} Kr kr R0{_on_steps(scalar)})"
        if STEP not in scalar.names:
            return f"({lemma} {self.all_letters} (INR K) 0 R{region})"
        if not stepped:
            raise NotExported("a sign for every step, in a theorem without steps")
        return f"({lemma} {self.all_letters} (INR K) (INR k) R{region} (pos_INR k) (step_below I))"

    def divided(self, scalars: Iterable[Scalar], region: int, stepped: bool | None) -> list[str]:
        """Return tactics that add that no denominator of these scalars is 0, where ``sign`` says."""
        proofs = [self.nonzero(divisor, region, stepped) for divisor in self.divisors(scalars)]
        return [f"pose proof {proof} as Y{number}." for number, proof in enumerate(proofs)]

    def _on_region(self, name: str, scalar: Scalar, region: int, says: str) -> str:
        steps = "0 <= kr -> kr <= Kr - 1 -> " if STEP in scalar.names else ""
        return f"Lemma {name} ({self.all_letters} Kr kr : R) : region_{region} {self.all_letters} Kr -> {steps}{says}."

    def _sign_proof(self, scalar: Scalar, region: int, strict: bool) -> list[str]:
        where = self.regions[region]
        parts = {self.ring.number(1): scalar}
        for name in (c.name for c in where.conditions if c.kind == "nonnegative" and c.name not in scalar.bottom.names):
            powers = [(of, *pair) for of, part in parts.items() for pair in part.coefficients(name).items()]
            parts = {of * self.ring[name] ** power: c for of, power, c in powers}
        if len(parts) > 1 and not strict:
            return self._by_parts(scalar, region, parts)
        if not where.positive(halves(scalar)[1]):
            return self._by_divisor(scalar, region, strict)
        found = where.certificate(scalar, strict)
        opened = [f"destruct R0 as {pattern('C_', where.conditions)}."] if found.letters else []
        charts = [line for c in found.letters for line in self._chart(c, STEP in scalar.names)]
        return [self._facts(region), *opened, *charts, *self._through(scalar, found, where, strict)]

    def _facts(self, region: int) -> str:
        names = pattern("P_", self.regions[region].conditions)
        return f"destruct (facts_{region} {self.all_letters} Kr R0) as {names}."

    def _by_parts(self, scalar: Scalar, region: int, parts: Mapping[Scalar, Scalar]) -> list[str]:
        """A sum of products of letters that are only known to be >= 0, each with a coefficient >= 0."""
        texts, proofs = [], []
        for letters, part in parts.items():
            lemma = self.sign(part, region, False, None)
            texts.append(f"{self.coefficient(part, self.real)} * ({scalar_text(letters, self.real)})")
            proofs.append(f"apply Rmult_le_pos; [exact {lemma}|nonneg].")
        total = " + ".join(texts)
        return [
            self._facts(region),
            *self.divided([scalar, *parts.values()], region, None),
            f"assert (Q0 : {scalar_text(scalar, self.real)} = {total}) by ({self.unfold(total)}field; nonzero).",
            f"refine (le0 _ Q0). {each_of('apply Rplus_le_le_0_compat.', proofs)}",
        ]

    def _by_divisor(self, scalar: Scalar, region: int, strict: bool) -> list[str]:
        """A quotient whose denominator has a sign that needs a certificate of its own."""
        for sign in (1, -1):
            top, bottom = (half * sign for half in halves(scalar))
            try:
                at = [self.sign(top, region, strict, None), self.sign(bottom, region, True, None)]
            except NotExported:
                continue
            texts = [scalar_text(part, self.real) for part in (top, bottom)]
            return [
                f"replace ({scalar_text(scalar, self.real)}) with (({texts[0]}) / ({texts[1]}))",
                f"  by (assert (Q : 0 < {texts[1]}) by exact {at[1]}; field; repeat split; lra).",
                f"apply {'quotient_pos' if strict else 'quotient_nonneg'}; [exact {at[0]}|exact {at[1]}].",
            ]
        raise NotExported(f"{scalar_text(scalar, {})}: no certificate of its sign")

    def _chart(self, c: Condition, stepped: bool) -> list[str]:
        u, v, x = parameter(c), rest(c), self.real[c.name]
        bound = f"({scalar_text(c.bound, self.real)})" if c.bound else "1"
        if c.kind in ("count", "at_least"):
            later = stepped and c.name == STEPS
            low, proof = ("(1 + kr)", "ltac:(lra)") if later else (bound, f"C_{c.name}")
            return [f"destruct (@chart_floor {x} {low} {proof}) as [{u} [U_{c.name} E_{c.name}]]."]
        low, high = f"(proj1 C_{c.name})", f"(proj2 C_{c.name})"
        if c.kind == "capped":
            return [f"destruct (@chart_cap {x} {bound} {low} {high}) as [{u} [U_{c.name} E_{c.name}]]."]
        positive = "apply quotient_pos; pos" if "/" in bound else "pos"
        return [
            f"assert (Q_{c.name} : 0 < {bound}) by ({positive}).",
            f"destruct (@chart_interval {x} {bound} Q_{c.name} {low} {high}) as "
            f"[{u} [{v} [U_{c.name} [V_{c.name} [T_{c.name} E_{c.name}]]]]].",
        ]

    def _through(self, scalar: Scalar, found: Certificate, where: Region, strict: bool) -> list[str]:
        own, top = scalar_text(scalar, self.real), found.numerator
        intervals = [c for c in found.letters if c.kind == "interval"]
        substituted = [*(rest(c) for c in intervals), *(self.real[c.name] for c in found.letters)]
        close = " ".join([*(f"subst {letter}." for letter in substituted), "field; nonzero."])
        if strict:
            leads = [where.lead(top, chosen) for chosen in cases(found.letters)]
            tops = [self._from(lead, top) for lead in leads if lead is not None]
        else:
            tops = [nested_text(top, self.real)]
        lines = []
        for number, text in enumerate(tops):
            lines += [f"assert (Q{number} : {own} = ({text}) / ({found.denominator})).", f"{{ {close} }}"]
        equal, quotient = ("lt0", "quotient_pos; [pos|pos]") if strict else ("le0", "quotient_nonneg; [nonneg|pos]")
        steps = [f"refine ({equal} _ Q{number}); apply {quotient}." for number in range(len(tops))]
        return lines + _in_each_case(intervals if strict else [], steps)

    def _from(self, lead: Monomial, top: Terms) -> str:
        """A numerator with one of its terms before the others."""
        first = polynomial_text({lead: top[lead]}, self.real)
        others = {powers: c for powers, c in top.items() if powers != lead}
        return f"{first} + ({nested_text(others, self.real)})" if others else first


def _on_steps(scalar: Scalar) -> str:
    return " P_k C_k" if STEP in scalar.names else ""


def _in_each_case(choices: list[Condition], steps: list[str]) -> list[str]:
    """One step for each choice of which of an interval's two parameters is > 0, in the order of
    ``sign_certificates.cases``."""
    if not choices:
        return steps
    c, half = choices[0], len(steps) // 2
    case = f"destruct (interval_case U_{c.name} V_{c.name} T_{c.name}) as [W_{c.name}|W_{c.name}]."
    return [case, *(f"{{ {' '.join(_in_each_case(choices[1:], part))} }}" for part in (steps[:half], steps[half:]))]


def each_of(step: str, proofs: Sequence[str]) -> str:
    """Return the proof of a sum, term by term: ``step`` takes the last term off."""
    if len(proofs) == 1:
        return proofs[0]
    return f"{step} {{ {each_of(step, proofs[:-1])} }} {{ {proofs[-1]} }}"


def pattern(prefix: str, conditions: Sequence[Condition]) -> str:
    """Return the pattern that names the parts of a conjunction of conditions."""
    names = [f"{prefix}{c.name}" for c in conditions]
    return "(" + " & ".join(names) + ")" if len(names) > 1 else names[0]
