"""Parts of a Coq file that all rules write: definitions of coefficients and vectors, identities, signs, and products in
canonical form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from . import sign_certificates
from .nested_sums import Entry
from .scalar_text import Monomial, NotExported, Polynomial, Scalar
from .sign_certificates import STEP, STEPS, Condition, Region

TAKEN = frozenset({
    "Kr", "kr", "K", "k", "R", "x", "xs", "xp", "X", "N", "Ns", "G", "V", "C", "S", "E", "D", "Z", "I", "B", "drawn",
    "start", "before", "known", "val", "grad", "cm", "given", "clients", "ip", "op", "fam", "kind", "steps", "mean",
    "server", "uniform", "arbitrary", "smooth", "pos", "optimum", "optimal", "in", "at", "as", "fun", "let", "if",
    "then", "else", "end", "forall", "exists", "match", "with", "return", "Type", "Prop", "Set",
})  # fmt: skip
"""Names of the prelude and of Coq that are no letters of a file; k and K are the step and the number of steps."""
INLINE = 14
"""Length in characters up to which a coefficient stands where it is used; a longer one gets a name."""


@dataclass(frozen=True)
class Factor:
    """Scalar with expressions for some of its letters."""

    scalar: Scalar
    values: tuple[tuple[str, Scalar], ...] = ()


@dataclass(frozen=True)
class Piece:
    """Product of factors, the coefficient of an entry."""

    factors: tuple[Factor, ...]
    entry: Entry

    def times(self, *scalars: Scalar) -> Piece:
        """Return the piece with further factors."""
        return Piece((*map(Factor, scalars), *self.factors), self.entry)


@dataclass
class Writer:
    """File that grows, with the parts that are already in it."""

    names: list[str]
    regions: list[Region] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    _made: dict[object, str] = field(default_factory=dict)

    # letters

    def __post_init__(self) -> None:
        self.letters = [n for n in self.names if n not in (STEP, STEPS)]
        self.coq = {n: self._safe(n) for n in self.letters}
        self.real: Mapping[str, str] = {**self.coq, STEPS: "Kr", STEP: "kr"}
        self.stated: Mapping[str, str] = {**self.coq, STEPS: "INR K", STEP: "INR k"}

    def _safe(self, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
            raise NotExported(f"name {name!r}: allowed is a letter, then letters, digits and _")
        return f"{name}_" if name in TAKEN or re.fullmatch(r"([uv]_.*)|([A-Z]_.*)|([A-Za-z]+[0-9]+)", name) else name

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

    def coefficient(self, scalar: Scalar, at: Mapping[str, str]) -> str:
        """Return a scalar as a factor, with texts for its letters."""
        text = scalar.text(self.real)
        if len(text) <= INLINE and "/" not in text:
            inside = scalar.text(at)
            return inside if re.fullmatch(r"\w+", inside) else f"({inside})"
        name, new = self.once(("coefficient", scalar), "c")
        used = [n for n in [*self.letters, STEPS, STEP] if n in scalar.names]
        if new:
            binder = f" ({' '.join(self.real[n] for n in used)} : R)" if used else ""
            self.add(f"Definition {name}{binder} : R := {text}.")
        given = [at[n] if re.fullmatch(r"\w+", at[n]) else f"({at[n]})" for n in used]
        return f"({' '.join([name, *given])})" if given else name

    def factor(self, factor: Factor, at: Mapping[str, str]) -> str:
        """Return a factor as text, with texts for its letters."""
        inner = {name: value.text(at) for name, value in factor.values}
        return self.coefficient(factor.scalar, {**at, **inner})

    def sum_of(self, pieces: Iterable[Piece], at: Mapping[str, str]) -> str:
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

    def identity(self, left: str, right: str, bottoms: Iterable[Scalar]) -> str:
        """Return the name of the lemma left = right over the reals, valid where its divisors are not 0, with these
        divisors."""
        bottoms = list(bottoms)
        known = self.nonzero_of(bottoms)
        divides = any(not scalar.bottom.is_one for scalar in bottoms)
        key = ("identity", left, right)
        name, new = self.once(key, "identity_")
        if new:
            hypotheses = "".join(f"{text} <> 0 -> " for text, _ in known)
            self.add(
                f"Lemma {name} ({self.all_letters} Kr kr : R) : {hypotheses}{left} = {right}.",
                f"Proof. intros. {self.unfold(left, right)}{'field; nonzero' if divides else 'ring'}. Qed.",
            )
        return name

    def divisors(self, scalars: Iterable[Scalar]) -> list[Scalar]:
        """Return the factors that have to differ from 0 so that all denominators do."""
        return _nonzero_factors(scalars)

    def nonzero_of(self, bottoms: Iterable[Scalar]) -> list[tuple[str, Scalar]]:
        """Return letters, and polynomials of more terms, that divide."""
        return sorted((factor.text(self.real), factor) for factor in _nonzero_factors(bottoms))

    def identity_at(self, left: str, right: str, bottoms: list[Scalar], region: int, stepped: bool) -> str:
        """Return the proof of an identity in a theorem on a region."""
        name = self.identity(left, right, bottoms)
        k = "(INR k)" if stepped else "0"
        proofs = [self.nonzero(factor, region, stepped) for _, factor in self.nonzero_of(bottoms)]
        return f"({' '.join([name, self.all_letters, '(INR K)', k, *proofs])})"

    # signs

    def sign(self, scalar: Scalar, region: int, strict: bool, stepped: bool) -> str:
        """Return the proof, in a theorem on a region, that a scalar is >= 0 (> 0 where strict)."""
        return self._sign_at(self.sign_lemma(scalar, region, strict), scalar, region, stepped)

    def _sign_at(self, name: str, scalar: Scalar, region: int, stepped: bool) -> str:
        if STEP in scalar.names and not stepped:
            raise NotExported("a sign for every step, in a theorem without steps")
        proofs = f"(INR k) R{region} (pos_INR k) (step_below I)" if STEP in scalar.names else f"0 R{region}"
        return f"({name} {self.all_letters} (INR K) {proofs})".replace("  ", " ")

    def nonzero(self, scalar: Scalar, region: int, stepped: bool) -> str:
        """Return the proof, in a theorem, that a divisor is not 0."""
        for sign in (1, -1):
            try:
                name = self.sign_lemma(scalar * Scalar.number(sign), region, True)
            except NotExported:
                continue
            lemma, new = self.once(("nonzero", scalar, region), "nonzero_")
            if new:
                self.add(*self._nonzero_proof(lemma, name, scalar, region, sign))
            return self._sign_at(lemma, scalar, region, stepped)
        raise NotExported(f"{scalar.text({})}: not seen to differ from 0")

    def nonzero_in_lemma(self, scalar: Scalar, region: int) -> str:
        """Return the proof, in a lemma on the reals, that a divisor is not 0."""
        self.nonzero(scalar, region, STEP in scalar.names)
        return self._sign_in_lemma(self._made[("nonzero", scalar, region)], scalar)

    def _nonzero_proof(self, lemma: str, positive: str, scalar: Scalar, region: int, sign: int) -> list[str]:
        own, signed = scalar.text(self.real), (scalar * Scalar.number(sign)).text(self.real)
        steps = "0 <= kr -> kr <= Kr - 1 -> " if STEP in scalar.names else ""
        return [
            f"Lemma {lemma} ({self.all_letters} Kr kr : R) : region_{region} {self.all_letters} Kr -> "
            f"{steps}{own} <> 0.",
            f"Proof. intros R0{' P_k C_k' if steps else ''}.",
            f"  assert (P : 0 < {signed}) by exact {self._sign_in_lemma(positive, scalar * Scalar.number(sign))}.",
            f"  replace ({signed}) with ({sign} * ({own})) in P by ring. lra. Qed.",
        ]

    def sign_lemma(self, scalar: Scalar, region: int, strict: bool) -> str:
        """Write the lemma that a scalar is >= 0 (> 0 where strict) on a region, once, and return its name."""
        key = ("sign", scalar, region, strict)
        if key in self._made:
            return self._made[key]
        lines = self._sign_proof(scalar, region, strict)
        name, _ = self.once(key, "sign_")
        steps = "0 <= kr -> kr <= Kr - 1 -> " if STEP in scalar.names else ""
        relation = "<" if strict else "<="
        self.coefficient(scalar, self.real)
        self.add(
            f"Lemma {name} ({self.all_letters} Kr kr : R) : region_{region} {self.all_letters} Kr -> "
            f"{steps}0 {relation} {(stated := self.coefficient(scalar, self.real))}.",
            f"Proof. {self.unfold(stated).replace('; ', '.')}",
            *(f"  {line}" for line in lines),
            "Qed.",
        )
        return name

    def _sign_proof(self, scalar: Scalar, region: int, strict: bool) -> list[str]:
        where = self.regions[region]
        start = [f"intros R0{' P_k C_k' if STEP in scalar.names else ''}."]
        parts = scalar.apart(c.name for c in where.conditions if c.kind == "nonnegative")
        if len(parts) > 1 and not strict:
            return start + self._by_parts(scalar, region, parts)
        if not where.positive(scalar.bottom):
            return start + self._by_divisor(scalar, region, strict)
        found = where.certificate(scalar, strict)
        start += [f"destruct (facts_{region} {self.all_letters} Kr R0) as {pattern('P_', where.conditions)}."]
        if found.letters:
            start += [f"destruct R0 as {pattern('C_', where.conditions)}."]
        charts = [line for c in found.letters for line in self._chart(c, where, STEP in scalar.names)]
        return start + charts + self._through(scalar, found, where, strict)

    def _by_parts(self, scalar: Scalar, region: int, parts: Mapping[Monomial, Scalar]) -> list[str]:
        """A sum of products of letters that are only known to be >= 0, each with a coefficient >= 0."""
        texts, proofs, lines = [], [], []
        for data, part in parts.items():
            factor = Polynomial({data: Fraction(1)}).text(self.real)
            lemma = self._sign_in_lemma(self.sign_lemma(part, region, False), part)
            texts.append(f"{self.coefficient(part, self.real)} * ({factor})")
            proofs.append(f"apply Rmult_le_pos; [exact {lemma}|nonneg]")
        for number, divisor in enumerate(_nonzero_factors([scalar, *parts.values()])):
            proof = self.nonzero_in_lemma(divisor, region)
            lines.append(f"pose proof {proof} as Y{number}.")
        total = " + ".join(texts)
        conditions = self.regions[region].conditions
        return [
            f"destruct (facts_{region} {self.all_letters} Kr R0) as {pattern('P_', conditions)}.",
            *lines,
            f"assert (Q0 : {scalar.text(self.real)} = {total}) by ({self.unfold(total)}field; nonzero).",
            f"refine (le0 _ Q0). {_split(proofs)}",
        ]

    def _by_divisor(self, scalar: Scalar, region: int, strict: bool) -> list[str]:
        """A quotient whose denominator has a sign that needs a certificate of its own."""
        one = Scalar.number(1).top
        for sign in (1, -1):
            parts = [Scalar.of(part, one) * Scalar.number(sign) for part in (scalar.top, scalar.bottom)]
            try:
                proofs = [self.sign_lemma(parts[0], region, strict), self.sign_lemma(parts[1], region, True)]
            except NotExported:
                continue
            at = [self._sign_in_lemma(name, part) for name, part in zip(proofs, parts, strict=True)]
            texts = [part.text(self.real) for part in parts]
            return [
                f"replace ({scalar.text(self.real)}) with (({texts[0]}) / ({texts[1]}))",
                f"  by (assert (Q : 0 < {texts[1]}) by exact {at[1]}; field; repeat split; lra).",
                f"apply {'quotient_pos' if strict else 'quotient_nonneg'}; [exact {at[0]}|exact {at[1]}].",
            ]
        raise NotExported(f"{scalar.text({})}: no certificate of its sign")

    def _sign_in_lemma(self, name: str, scalar: Scalar) -> str:
        return f"({name} {self.all_letters} Kr kr R0{' P_k C_k' if STEP in scalar.names else ''})"

    def _chart(self, c: Condition, where: Region, stepped: bool) -> list[str]:
        u, v, x = sign_certificates.parameter(c), sign_certificates.rest(c), self.real[c.name]
        if c.kind == "count":
            low = "(1 + kr)" if c.name == STEPS and stepped else "1"
            proof = "ltac:(lra)" if low != "1" else f"C_{c.name}"
            return [f"destruct (@chart_floor {x} {low} {proof}) as [{u} [U_{c.name} E_{c.name}]]."]
        assert c.bound
        bound = f"({c.bound.text(self.real)})"
        if c.kind == "at_least":
            return [f"destruct (@chart_floor {x} {bound} C_{c.name}) as [{u} [U_{c.name} E_{c.name}]]."]
        low, high = f"(proj1 C_{c.name})", f"(proj2 C_{c.name})"
        if c.kind == "capped":
            return [f"destruct (@chart_cap {x} {bound} {low} {high}) as [{u} [U_{c.name} E_{c.name}]]."]
        positive = "pos" if c.bound.bottom.is_one else "apply quotient_pos; pos"
        return [
            f"assert (Q_{c.name} : 0 < {bound}) by ({positive}).",
            f"destruct (@chart_interval {x} {bound} Q_{c.name} {low} {high}) as "
            f"[{u} [{v} [U_{c.name} [V_{c.name} [T_{c.name} E_{c.name}]]]]].",
        ]

    def _through(self, scalar: Scalar, found: sign_certificates.Certificate, where: Region, strict: bool) -> list[str]:
        bottom = sign_certificates.factor_text(found.factors)
        if found.polya[1]:
            bottom = f"{bottom} * ({found.polya[0]}) ^ {found.polya[1]}"
        own = scalar.text(self.real)
        substitutions = [
            f"subst {v}." for c in found.letters if c.kind == "interval" for v in [sign_certificates.rest(c)]
        ]
        substitutions += [f"subst {self.real[c.name]}." for c in found.letters]
        lines = []
        names = {**self.real}
        parts = [(found.numerator.nested(names), frozenset[str]())]
        if strict:
            parts = []
            for chosen in sign_certificates.cases(found):
                lead = where.lead(found, chosen)
                assert lead is not None
                first = type(found.numerator)({lead: found.numerator.terms[lead]})
                rest = found.numerator - first
                parts.append(
                    (f"{first.text(names)} + ({rest.nested(names)})" if rest.terms else first.text(names), chosen)
                )
        for number, (top, _) in enumerate(parts):
            lines += [
                f"assert (Q{number} : {own} = ({top}) / ({bottom})).",
                "{ " + " ".join([*substitutions, "field; nonzero. }"]),
            ]
        apply = "quotient_pos" if strict else "quotient_nonneg"
        close = "pos" if strict else "nonneg"
        from_equal = "lt0" if strict else "le0"
        steps = [f"refine ({from_equal} _ Q{n}); apply {apply}; [{close}|pos]." for n in range(len(parts))]
        choices = [c for c in found.letters if c.kind == "interval"] if strict else []
        return lines + _in_each_case(choices, steps)


def _in_each_case(choices: list[Condition], steps: list[str]) -> list[str]:
    """One step for each choice of which of an interval's two parameters is > 0, in the order of
    ``sign_certificates.cases``."""
    if not choices:
        return steps
    c, half = choices[0], len(steps) // 2
    case = f"destruct (interval_case U_{c.name} V_{c.name} T_{c.name}) as [W_{c.name}|W_{c.name}]."
    return [case, *(f"{{ {' '.join(_in_each_case(choices[1:], part))} }}" for part in (steps[:half], steps[half:]))]


def _split(proofs: list[str]) -> str:
    """A proof that a sum is >= 0, term by term."""
    if len(proofs) == 1:
        return f"{proofs[0]}."
    return f"apply Rplus_le_le_0_compat. {{ {_split(proofs[:-1])} }} {{ {proofs[-1]}. }}"


def _nonzero_factors(scalars: Iterable[Scalar]) -> list[Scalar]:
    """Return the factors that have to differ from 0 so that all denominators do, each once."""
    return list(dict.fromkeys(factor for scalar in scalars for factor in _factors(scalar.bottom)))


def _factors(polynomial: Polynomial) -> list[Scalar]:
    """Return the factors of a polynomial: the letters of a power product, else the polynomial itself."""
    one = Polynomial.number(1)
    if len(polynomial.terms) == 1:
        return [Scalar.of(Polynomial.name(n), one) for n in sorted(polynomial.names)]
    return [Scalar.of(polynomial, one)]


def pattern(prefix: str, conditions: Sequence[Condition]) -> str:
    """Return the pattern that names the parts of a conjunction of conditions."""
    names = [f"{prefix}{c.name}" for c in conditions]
    return "(" + " & ".join(names) + ")" if len(names) > 1 else names[0]
