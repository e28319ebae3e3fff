"""Proofs in Coq of the kernel's axioms, from the definitions of the prelude, and of its rules for expectations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

from ..kernel.scalars import Scalar
from . import nest_proofs, nested_sums
from .lemma_writer import Factor, Piece
from .nested_sums import MEAN_GRADIENT, NEXT, NOISE, SERVER_NOISE, START, Atom, Entry, Nest, Sum, Term
from .rule_proofs import Rules
from .scalar_text import NotExported
from .vector_products import COHORTS, Level

_POINTS = {
    "smooth": "{L} ^ 2 * (@pp - 2 * @pq + @qq) - (@gg - 2 * @gh + @hh)",
    "cocoercive": "({mu} + {L}) * (@gp - @gq - @hp + @hq) - {mu} * {L} * (@pp - 2 * @pq + @qq) - (@gg - 2 * @gh + @hh)",
    "convex": "@P - @Q - (@hp - @hq) - {mu} / 2 * (@pp - 2 * @pq + @qq)",
    "descent": "@Q - @P + (@hp - @hq) + {L} / 2 * (@pp - 2 * @pq + @qq)",
    "interpolated": "2 * ({L} - {mu}) * (@P - @Q - (@hp - @hq)) - (@gg - 2 * @gh + @hh)"
    " - {mu} * {L} * (@pp - 2 * @pq + @qq) + 2 * {mu} * (@gp - @gq - @hp + @hq)",
}
"""Forms that are >= 0 at any two points p and q with gradients g and h: @pq is <p, q>, and @P is F_i(p)."""
_ASSUMED = {"L": "smooth", "mu": "strongly_convex"}
"""The assumption that each letter of ``_POINTS`` is the constant of."""

_MOVED = "@y - @x + @rate * (@g + @n)"
_ITERATE, _LATER = ("", ("x", True, (1, 0, 0))), ("", ("x", True, (1, 0, 1)))
_ALONG = ("", ("g", True, (1, 0, 0)))
_EQUATIONS: dict[str, tuple[str, dict[str, Term]]] = {
    "optimal": ("optimum_paired @w", {"g": ("M", ("g_opt", True, ()))}),
    "local step": ("local_step_paired S @i @k @w P_local_lr", {"y": _LATER, "x": _ITERATE, "g": _ALONG, "n": NOISE}),
    "round": ("round_paired' @w P_local_lr D", {"y": NEXT, "x": START, "g": ("KS", _ALONG[1]), "n": ("KS", NOISE[1])}),
    "server round": (
        "server_round_paired' @w P_server_lr",
        {"y": NEXT, "x": START, "g": MEAN_GRADIENT, "n": SERVER_NOISE},
    ),
}
"""Lemma of a vector that is 0 when it is paired with @w, and what it is made of: the gradient alone, or ``_MOVED``."""


class Axioms(Rules):
    """Theorem that is an axiom, or an expectation of one."""

    def prove(self) -> None:
        """Prove the theorem by its rule."""
        rule = self.line.rule.removeprefix("server ")
        if rule in _POINTS:
            self._points(f"{rule}_points", _POINTS[rule])
        elif self.line.rule in _EQUATIONS:
            self._equation(*_EQUATIONS[self.line.rule])
        else:
            getattr(self, rule.replace(" ", "_"))()

    @property
    def _level(self) -> Level:
        return "S" if self.line.context == "cohort" else "server" if self.line.kind == "server" else "nil"

    def _paired(self, level: Level, left: Term, right: Term) -> tuple[str, str]:
        return self.w.paired(level, "", left, right, self.i, self.k)[:2]

    def _assumption(self, name: str, constant: Scalar | None) -> str:
        label = self.label(name, constant)
        if label not in self.hypotheses(self.line):
            raise NotExported(f"{name}: the axiom does not say that it assumes it")
        return label

    def _state(self, says: str, lemma: str, rewrites: Iterable[str]) -> None:
        """Prove the goal from what a lemma says, with its products as entries."""
        self.do(f"assert (Q : {says}) by exact ({lemma}).", f"rewrite {', '.join(dict.fromkeys(rewrites))} in Q.")
        self._close("Q")

    def _close(self, name: str) -> None:
        """The goal is ``name``, but for the order of terms."""
        form = self.form_text(self.line)
        self.do(*self.w.divided([c for _, c in self.line.form], self.line.where, self.stepped))
        equality = "eq0" if self.line.equality else "le0"
        self.do(f"apply ({equality} {name}). {self.w.unfold(form, name)}field; nonzero.")

    def _points(self, lemma: str, form: str) -> None:
        """An inequality of the prelude at two points p and q with gradients g and h, each product as an entry."""
        given, level, proofs = self.line.arguments, self._level, []
        points = [("", nested_sums.atom_of(given[name])) for name in "pq"] if "p" in given else [NEXT, START]
        vectors = dict(zip("pqgh", [*points, *map(_gradient, points)], strict=True))
        constants = {name: self.scalar(given[name]) for name in _ASSUMED if f"{{{name}}}" in form}
        raw = form.format(**{name: self.w.coefficient(c, self.w.stated) for name, c in constants.items()})
        for pair in itertools.product("pqgh", repeat=2):
            if (name := f"@{''.join(pair)}") in raw:
                text, proof = self._paired(level, *(vectors[one] for one in pair))
                raw = raw.replace(name, f"({text})")
                proofs.append(proof)
        cohort = COHORTS[level]
        for name, (_, point) in zip(("@P", "@Q"), points, strict=True):
            value = self.w.entry_text(("value", "", point), level, self.i)
            if name in raw and level == "S" and nested_sums.at_start(point):
                value = value.replace("[]", "S")
                proofs.append(f"(known_val S {self.i} {nested_sums.known_text(point)})")
            raw = raw.replace(name, value)
        labels = [self._assumption(_ASSUMED[name], constant) for name, constant in constants.items()]
        at = [nested_sums.atom_text(point, cohort, self.i, "k") for _, point in points]
        self._state(f"0 <= {raw}", f"{lemma} {cohort} {self.i} {' '.join([*at, *labels])}", proofs)

    def dissimilar(self) -> None:
        """Prove |grad F_i - grad F|^2 <= sigma_G^2 at the start or the optimum."""
        squared = self.scalar(self.line.arguments["squared"])
        point = "", nested_sums.atom_of(self.line.arguments["point"])
        g = _gradient(point)
        name = "bounded_dissimilarity" + ("" if point == START else "_at_optimum")
        pairs = itertools.combinations_with_replacement((g, ("M", g[1])), 2)
        texts, proofs = zip(*(self._paired("nil", *pair) for pair in pairs), strict=True)
        form = f"{self.w.coefficient(squared, self.w.stated)} - (({texts[0]}) - 2 * ({texts[1]}) + ({texts[2]}))"
        self._state(f"0 <= {form}", f"far_points ({self._assumption(name, squared)} {self.i})", proofs)

    # noise

    def variance(self) -> None:
        """Prove E|N_{i,k}|^2 <= sigma^2, or E|N_server|^2 <= sigma_s^2."""
        level, squared = self._level, self.scalar(self.line.arguments["squared"])
        noise, name = (SERVER_NOISE, "bounded_server_noise") if level == "server" else (NOISE, "bounded_noise")
        text, proof = self._paired(level, noise, noise)
        label = self._assumption(name, squared)
        drawn, server = f"variance_points {self.i} {self.k} {label} D", f"server_variance_points {label}"
        lemma = server if level == "server" else drawn
        self._state(f"0 <= {self.w.coefficient(squared, self.w.stated)} - {text}", lemma, [proof])

    def uncorrelated(self) -> None:
        """Prove |mean_S N_{i,k}|^2 = mean_S |N_{i,k}|^2 / size."""
        noise = [self._assumption(n, None) for n in ("uncorrelated_noise", "cohort_is_a_set")]
        far = self.w.entry_text(("product", "", ("S", NOISE[1]), ("S", NOISE[1])), "S", k=self.k)
        near = self.w.entry_text(("product", "S", NOISE, NOISE), "S", k=self.k)
        size = self.w.coefficient(self.line.parameters["size"], self.w.stated)
        self.do(
            f"assert (Q : {far} + - / {size} * {near} = 0).",
            f"{{ rewrite (uncorrelated_mean {self.k} {' '.join(noise)} D), Z. ring. }}",
        )
        self._close("Q")

    def steps_apart(self) -> None:
        """Prove |sum_k mean_S N_{i,k}|^2 = sum_k |mean_S N_{i,k}|^2."""
        sums = (Sum("K", True, False), Sum("K", False, True), Sum("S", True, False), Sum("S", False, True))
        steps = nest_proofs.proof(Nest(sums, NOISE[1], NOISE[1]))
        far = self.w.entry_text(("product", "", ("KS", NOISE[1]), ("KS", NOISE[1])), "S")
        near = self.w.entry_text(("product", "K", ("S", NOISE[1]), ("S", NOISE[1])), "S")
        label = self._assumption("unbiased_noise", None)
        self.do(
            f"assert (Q : {far} - {near} = 0).",
            f"{{ rewrite <- (steps_apart_mean {label} D). apply Rminus_diag_eq. symmetry. {steps} }}",
        )
        self._close("Q")

    # equations that are paired with a vector

    def _with_each(self, proved: Callable[[Term], tuple[str, str, Iterable[str]]]) -> None:
        """The sum over the terms of the other vector of an equation with each of them: (what is 0, the tactics that
        prove it, the proofs that its products are entries)."""
        whole = "(eq_refl 0)"
        for number, (term, c) in enumerate(self.vector(self.line.arguments["other"])):
            says, tactics, rewrites = proved(term)
            self.do(
                f"assert (Q{number} : {says} = 0).",
                f"{{ {tactics}. }}",
                f"rewrite {', '.join(dict.fromkeys(rewrites))} in Q{number}.",
            )
            whole = f"(plus_null {whole} (times_null {self.w.coefficient(c, self.w.stated)} Q{number}))"
        self._close(whole)

    def _equation(self, lemma: str, vectors: dict[str, Term]) -> None:
        level, form = "nil", "@g"
        if "y" in vectors:
            level = self._level
            rate = self.line.parameters["server_lr" if level == "server" else "local_lr"]
            form = _MOVED.replace("@rate", self.w.coefficient(rate, self.w.stated))

        def proved(term: Term) -> tuple[str, str, Iterable[str]]:
            raw, rewrites = form, []
            for name, one in vectors.items():
                text, rewrite = self._paired(level, one, term)
                raw = raw.replace(f"@{name}", f"({text})")
                rewrites.append(rewrite)
            paired = f"({self.w.family(term)} {COHORTS[level]} {self.i} {self.k})"
            exact = lemma.replace("@w", paired).replace("@i", self.i).replace("@k", self.k)
            return raw, f"exact ({exact})", rewrites

        self._with_each(proved)

    def unbiased(self) -> None:
        """Prove <N_{i,k}, w> = 0 for w known before that noise, or <N_server, w> = 0 for w known at the start."""
        level = self._level
        noise, name = (SERVER_NOISE, "unbiased_server_noise") if level == "server" else (NOISE, "unbiased_noise")
        label = self._assumption(name, None)

        def proved(term: Term) -> tuple[str, str, Iterable[str]]:
            text, rewrite = self._paired(level, noise, term)
            before = f"exact {nested_sums.known_text(term[1])}" if nested_sums.at_start(term[1]) else ""
            if level != "server":
                before = f"[exact D|{f'apply before_start; {before}' if before else _before(term[1])}]"
            opened = "".join("rewrite ip_osum_r; apply osum_null; intros ? _. " for _ in term[0])
            families = f"{self.w.family(noise)}, {self.w.family(term)}"
            return text, f"unfold B_, {families}. {opened}apply {label}; {before}", [rewrite]

        self._with_each(proved)

    # expectations

    def project(self) -> None:
        """Prove that a cohort's mean has its conditional mean, paired with a vector known at the start."""
        family, kind = nested_sums.atom_of(self.line.arguments["family"]), self.line.kind
        mean: Atom = (f"E {kind} {family[0]}", False, ())
        sources = []
        for number, (term, c) in enumerate(self.vector(self.line.arguments["other"])):
            raw = [nested_sums.product("", ("S", family), term), nested_sums.product("", ("", mean), term)]
            ones = [nested_sums.entry(nest) for nest in raw]
            texts = [self.w.entry_text(one, self.line.level) for one in ones]
            if term[0] not in ("", "M"):
                raise NotExported("a projection paired with another vector than one at the start, or its mean")
            starts = [nested_sums.known_text(atom) for atom in (family, term[1])]
            lemma = "conditional_mean_M" if term[0] else "conditional_mean"
            self.do(
                f"assert (Q{number} : {texts[0]} = {texts[1]}).",
                f"{{ transitivity (given {kind} (fun S => {raw[0].text()})).",
                f"  - apply (e_ext (given_exp {kind})). intros S. symmetry. {nest_proofs.proof(raw[0])}",
                f"  - transitivity {raw[1].text()}; [|{nest_proofs.tactic(raw[1])}].",
                f"    apply {lemma}; [intros; exact {starts[0]}|intros; exact {starts[1]}]. }}",
            )
            pieces = [Piece((), ones[0]), Piece((Factor(self.w.ring.number(-1)),), ones[1])]
            sources.append(self.source(f"(Rminus_diag_eq _ _ Q{number})", pieces, True, c))
        self.finish(self.line.pieces(), sources)

    def expect_uniform(self) -> None:
        """Prove the expectation over a uniform, or an arbitrary, cohort, entry by entry."""
        (premise,), kind = self.line.premises, self.line.kind
        start = "apply (sized_null P_size)." if premise.equality else "apply P_size."
        parts = []
        for entry, c in premise.form:
            pieces, text, step = self._expected(entry, kind)
            coefficient = self.w.coefficient(c, self.w.stated)
            proof = f"rewrite (e_scale (given_exp {kind})). apply (f_equal (Rmult {coefficient})). {step}"
            parts.append(([Piece((Factor(c), *p.factors), p.entry) for p in pieces], f"{coefficient} * {text}", proof))
        self.entry_by_entry(
            f"given {kind} (fun S => {self.form_text(premise)})",
            f"{start} intros S D Z. exact {self.use(premise)}.",
            f"etransitivity; [apply (e_add (given_exp {kind}))|]. apply (f_equal2 Rplus).",
            parts,
        )

    expect_arbitrary = expect_uniform

    def _expected(self, entry: Entry, kind: str) -> tuple[list[Piece], str, str]:
        """(the pieces of an entry's expectation, their sum as text, the proof)."""
        text = self.w.entry_text(entry, self.line.level)
        if nested_sums.entry_known(entry):
            return [Piece((), entry)], text, f"apply (e_const (given_exp {kind}))."
        binders, atoms = nested_sums.parts_of(entry)
        if kind == "uniform" and "S" in binders and all(map(nested_sums.at_start, atoms)):
            return self._drawn(nested_sums.of(entry), entry)
        return [Piece((), entry)], text, "reflexivity."

    def _drawn(self, nest: Nest, entry: Entry) -> tuple[list[Piece], str, str]:
        """First and second moments of a uniform cohort."""
        label, share = self._assumption("uniform_cohorts", None), self.line.parameters["share"]
        cohorts = [s for s in nest.sums if s.binder == "S"]
        rest = tuple(s for s in nest.sums if s.binder != "S")
        front = Nest((*cohorts, *rest), nest.left, nest.right)
        begin = (
            f"transitivity (given uniform (fun S => {front.text()})); "
            f"[apply (e_ext (given_exp uniform)); intros S; symmetry; {nest_proofs.tactic(front)}|]."
        )
        nests = [Nest((*(Sum("M", s.left, s.right) for s in cohorts), *rest), nest.left, nest.right)]
        if len(cohorts) == 2:
            if rest:
                raise NotExported(f"{entry}: the expectation of it over a cohort")
            nests.insert(0, Nest((Sum("M", True, True),), nest.left, nest.right))
        ones = [nested_sums.entry(one) for one in nests]
        texts, scripts = [self.w.entry_text(one, self.line.level) for one in ones], list(map(nest_proofs.proof, nests))
        if len(nests) == 1:
            return [Piece((), ones[0])], texts[0], f"{begin} etransitivity; [apply (proj1 {label})|]. {scripts[0]}"
        weight = self.w.coefficient(share, self.w.stated)
        proof = (
            f"{begin} etransitivity; [apply (proj2 {label})|]. apply (f_equal2 Rplus); apply (f_equal (Rmult _)). "
            f"{{ {scripts[0]} }} {{ {scripts[1]} }}"
        )
        pieces = [Piece((Factor(c),), one) for c, one in zip((share, 1 - share), ones, strict=True)]
        return pieces, f"({weight} * {texts[0]} + (1 - {weight}) * {texts[1]})", proof

    def mix(self) -> None:
        """Prove the expectation over two kinds of rounds: each late entry's is that of the two, with their
        probabilities."""
        q, server = self.scalar(self.line.arguments["probability"]), self.line.rule == "mix server"
        label = self._assumption("random_client_rounds" if server else "random_kinds", q)
        factors = (1 - q, q) if server else (q, 1 - q)
        late = [e for e, _ in self.line.form if not nested_sums.entry_known(e)]
        for number, entry in enumerate(late):
            self.do(f"pose proof ({label} (fun S => {nested_sums.of(entry).text()})) as L{number}.")
        if late:
            self.do(f"rewrite {', '.join(f'L{number}' for number in range(len(late)))}.")
        sources = [self.premise(p, factor) for p, factor in zip(self.line.premises, factors, strict=True)]
        self.finish(self.line.pieces(), sources, late)

    mix_server = mix


def _gradient(point: Term) -> Term:
    if point == NEXT:
        return point  # no gradient is taken there
    if point[1][2]:
        return "", ("g", True, point[1][2])
    return "", ("g_start" if point == START else "g_opt", True, ())


def _before(atom: Atom) -> str:
    name, _, step = atom
    if not step or step[0] != 1 or name not in ("x", "g", "N"):
        raise NotExported(f"{name}: not seen to be known before the noise")
    return f"apply before_{name.upper()}; lia"
