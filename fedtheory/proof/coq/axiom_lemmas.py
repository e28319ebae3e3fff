"""Proofs in Coq of the kernel's axioms, from the definitions of the prelude, and of its rules for expectations."""

from __future__ import annotations

from ..kernel.scalars import Scalar
from . import nest_proofs, nested_sums
from .lemma_writer import Factor, Piece, each_of
from .nested_sums import ONE, Atom, Entry, Nest, Sum, Term
from .rule_proofs import Rules, Vector
from .scalar_text import NotExported
from .theorem_lemmas import Source

START, OPTIMUM, NEXT = ("x", False, ()), ("x*", False, ()), ("x+", False, ())
ALONG, NOISE = ("g", True, (1, 0, 0)), ("N", True, (1, 0, 0))


class Axioms(Rules):
    """Theorem that is an axiom, or an expectation of one."""

    # inequalities between two points

    def smooth(self) -> None:
        """Prove |grad F_i(p) - grad F_i(q)| <= L |p - q|."""
        self._points("smooth_points", "smooth", "{L} ^ 2 * (@pp - 2 * @pq + @qq) - (@gg - 2 * @gh + @hh)", ("L",))

    def cocoercive(self) -> None:
        """Prove the co-coercivity of grad F_i with mu and L."""
        form = "({mu} + {L}) * (@gp - @gq - @hp + @hq) - {mu} * {L} * (@pp - 2 * @pq + @qq) - (@gg - 2 * @gh + @hh)"
        self._points("cocoercive_points", "smooth strongly_convex", form, ("mu", "L"))

    def interpolated(self) -> None:
        """Prove the interpolation inequality of strongly convex, smooth functions."""
        form = (
            "2 * ({L} - {mu}) * (@P - @Q - (@hp - @hq)) - (@gg - 2 * @gh + @hh)"
            " - {mu} * {L} * (@pp - 2 * @pq + @qq) + 2 * {mu} * (@gp - @gq - @hp + @hq)"
        )
        self._points("interpolated_points", "smooth strongly_convex", form, ("mu", "L"))

    def convex(self) -> None:
        """Prove the lower quadratic bound of a strongly convex function."""
        form = "@P - @Q - (@hp - @hq) - {mu} / 2 * (@pp - 2 * @pq + @qq)"
        self._points("convex_points", "strongly_convex", form, ("mu",))

    def descent(self) -> None:
        """Prove the upper quadratic bound of a smooth function."""
        form = "@Q - @P + (@hp - @hq) + {L} / 2 * (@pp - 2 * @pq + @qq)"
        self._points("descent_points", "smooth", form, ("L",))

    def server_descent(self) -> None:
        """Prove the upper quadratic bound of a smooth function over a server's round."""
        form = "@Q - @P + (@hp - @hq) + {L} / 2 * (@pp - 2 * @pq + @qq)"
        self._points("descent_points", "smooth", form, ("L",), (NEXT, START))

    def _points(
        self, lemma: str, assumed: str, form: str, letters: tuple[str, ...], points: tuple[Atom, Atom] | None = None
    ) -> None:
        """An inequality of the prelude at two points p and q with gradients g and h, each product as an entry."""
        given = self.line.arguments
        p, q = points or (nested_sums.atom_of(given["p"]), nested_sums.atom_of(given["q"]))
        level = "S" if self.line.context == "cohort" else "server" if self.line.kind == "server" else "nil"
        vectors = {"p": p, "q": q, "g": self._gradient(p), "h": self._gradient(q)}
        constants = {n: self.w.coefficient(self.scalar(given[n]), self.w.stated) for n in letters}
        raw, proofs = form.format(**constants), []
        for left in "pqgh":
            for right in "pqgh":
                if f"@{left}{right}" in raw:
                    text, proof, _, _ = self._paired(level, vectors[left], vectors[right])
                    raw = raw.replace(f"@{left}{right}", f"({text})")
                    proofs.append(proof)
        cohort = "S" if level == "S" else "[]"
        for name, point in (("@P", p), ("@Q", q)):
            value = f"val {cohort} {self._i} {nested_sums.atom_text(point, cohort, self._i, 'k')}"
            if level == "server" and not nested_sums.at_start(point):
                value = self.w.entry_text(("value", "", point), level, self._i)
            if name in raw and level == "S" and nested_sums.at_start(point):
                proofs.append(f"(known_val S {self._i} {nested_sums.known_text(point)})")
            raw = raw.replace(name, f"({value})")
        labels = [
            self._assumption(name, self.scalar(given[n]))
            for name, n in zip(assumed.split(), [n for n in ("L", "mu") if n in letters], strict=True)
        ]
        at = [nested_sums.atom_text(point, cohort, self._i, "k") for point in (p, q)]
        self.do(
            f"assert (Q : 0 <= {raw}) by exact ({lemma} {cohort} {self._i} {at[0]} {at[1]} {' '.join(labels)}).",
            f"rewrite {', '.join(dict.fromkeys(proofs))} in Q." if proofs else "",
        )
        self._close("Q")

    @property
    def _i(self) -> str:
        return "i" if self.line.open("i") else "i0"

    @property
    def _k(self) -> str:
        return "k" if self.stepped else "0%nat"

    def _gradient(self, point: Atom) -> Atom:
        if point[:2] == ("x", True):
            return ("g", True, point[2])
        if point == NEXT:
            return point  # no gradient is taken there
        return ("g_start" if point == START else "g_opt", True, ())

    def _paired(self, level: str, left: Atom | Term, right: Atom | Term) -> tuple[str, str, bool, Entry]:
        terms = [t if isinstance(t[1], tuple) else ("", t) for t in (left, right)]
        return self.w.paired(level, "", terms[0], terms[1], self._i, self._k)  # type: ignore[arg-type]

    def _assumption(self, name: str, constant: Scalar | None) -> str:
        label = self.label(name, constant)
        if label not in dict(self.hypotheses(self.line)):
            raise NotExported(f"{name}: the axiom does not say that it assumes it")
        return label

    def _close(self, name: str) -> None:
        """The goal is ``name``, but for the order of terms."""
        texts = [self.w.coefficient(c, self.w.stated) for _, c in self.line.form]
        self.do(*self.w.divided([c for _, c in self.line.form], self.line.where, self.stepped))
        equality = "eq0" if self.line.equality else "le0"
        self.do(f"apply ({equality} {name}). {self.w.unfold(*texts, name)}field; nonzero.")

    def dissimilar(self) -> None:
        """Prove |grad F_i - grad F|^2 <= sigma_G^2 at the start or the optimum."""
        point, squared = nested_sums.atom_of(self.line.arguments["point"]), self.scalar(self.line.arguments["squared"])
        g = self._gradient(point)
        name = "bounded_dissimilarity" + ("" if point == START else "_at_optimum")
        products = [
            self._paired("nil", ("", g), ("", g)),
            self._paired("nil", ("", g), ("M", g)),
            self._paired("nil", ("M", g), ("M", g)),
        ]
        texts = [f"({text})" for text, _, _, _ in products]
        form = f"{self.w.coefficient(squared, self.w.stated)} - ({texts[0]} - 2 * {texts[1]} + {texts[2]})"
        self.do(
            f"assert (Q : 0 <= {form}) by exact (far_points ({self._assumption(name, squared)} {self._i})).",
            f"rewrite {', '.join(proof for _, proof, _, _ in products)} in Q.",
        )
        self._close("Q")

    # noise

    def variance(self) -> None:
        """Prove E|N_{i,k}|^2 <= sigma^2."""
        self._variance("variance_points", "bounded_noise", "S", NOISE, f"S {self._i} {self._k}", " D")

    def server_variance(self) -> None:
        """Prove E|N_server|^2 <= sigma_s^2."""
        self._variance("server_variance_points", "bounded_server_noise", "server", ("N_server", False, ()), "", "")

    def _variance(self, lemma: str, assumed: str, level: str, noise: Atom, at: str, drawn: str) -> None:
        squared = self.scalar(self.line.arguments["squared"])
        text, proof, _, _ = self._paired(level, noise, noise)
        label = self._assumption(assumed, squared)
        indices = f" {self._i} {self._k}" if at else ""
        applied = f"{lemma}{indices} {label}{drawn}" if at else f"{lemma} {label}"
        self.do(
            f"assert (Q : 0 <= {self.w.coefficient(squared, self.w.stated)} - {text}) by exact ({applied}).",
            f"rewrite {proof} in Q.",
        )
        self._close("Q")

    def uncorrelated(self) -> None:
        """Prove |mean_S N_{i,k}|^2 = mean_S |N_{i,k}|^2 / size."""
        noise = [self._assumption(n, None) for n in ("uncorrelated_noise", "cohort_is_a_set")]
        far = nested_sums.of(("product", "", ("S", NOISE), ("S", NOISE))).text("S", "i", self._k)
        near = nested_sums.of(("product", "S", ("", NOISE), ("", NOISE))).text("S", "i", self._k)
        size = self.w.coefficient(self.line.parameters["size"], self.w.stated)
        self.do(
            f"assert (Q : {far} + - / {size} * {near} = 0).",
            f"{{ rewrite (uncorrelated_mean {self._k} {' '.join(noise)} D), Z. ring. }}",
        )
        self._close("Q")

    def steps_apart(self) -> None:
        """Prove |sum_k mean_S N_{i,k}|^2 = sum_k |mean_S N_{i,k}|^2."""
        sums = (Sum("K", True, False), Sum("K", False, True), Sum("S", True, False), Sum("S", False, True))
        _, steps = nest_proofs.script(Nest(sums, NOISE, NOISE), "D", False)
        far = nested_sums.of(("product", "", ("KS", NOISE), ("KS", NOISE))).text()
        near = nested_sums.of(("product", "K", ("S", NOISE), ("S", NOISE))).text()
        label = self._assumption("unbiased_noise", None)
        self.do(
            f"assert (Q : {far} - {near} = 0).",
            f"{{ rewrite <- (steps_apart_mean {label} D). apply Rminus_diag_eq. symmetry. {' '.join(steps)} }}",
        )
        self._close("Q")

    # equations that are paired with a vector

    def _with_each(self, level: str, left: dict[str, Term], form: str, proof: str) -> None:
        """The sum over the terms of the other vector of an equation with each of them."""
        other: Vector = self.vector(self.line.arguments["other"])
        whole = "(eq_refl 0)"
        for number, (term, c) in enumerate(other):
            raw, proofs = form, []
            for name, one in left.items():
                text, rewrite, _, _ = self._paired(level, one, term)
                raw = raw.replace(name, f"({text})")
                proofs.append(rewrite)
            cohort = "S" if level == "S" else "[]"
            vector = f"({self.w.family(term)} {cohort} {self._i} {self._k})"
            self.do(
                f"assert (Q{number} : {raw} = 0) by exact ({proof.replace('@w', vector)}).",
                f"rewrite {', '.join(dict.fromkeys(proofs))} in Q{number}.",
            )
            text = self.w.coefficient(c, self.w.stated)
            whole = f"(plus_null {whole} (times_null {text} Q{number}))"
        self._close(whole)

    def optimal(self) -> None:
        """Prove <grad F(x*), w> = 0."""
        self._with_each("nil", {"@g": ("M", ("g_opt", True, ()))}, "@g", "optimum_paired @w")

    def local_step(self) -> None:
        """Prove the equation of a local step, paired with a vector."""
        left: dict[str, Term] = {
            "@y": ("", ("x", True, (1, 0, 1))),
            "@x": ("", ("x", True, (1, 0, 0))),
            "@g": ("", ALONG),
            "@n": ("", NOISE),
        }
        form = f"@y - @x + {self._step('local_lr')} * (@g + @n)"
        self._with_each("S", left, form, f"local_step_paired S {self._i} {self._k} @w P_local_lr")

    def round(self) -> None:
        """Prove the equation of a round, paired with a vector."""
        left: dict[str, Term] = {"@y": ("", NEXT), "@x": ("", START), "@g": ("KS", ALONG), "@n": ("KS", NOISE)}
        form = f"@y - @x + {self._step('local_lr')} * (@g + @n)"
        self._with_each("S", left, form, "round_paired' @w P_local_lr D")

    def server_round(self) -> None:
        """Prove the equation of a server's round, paired with a vector."""
        left: dict[str, Term] = {
            "@y": ("", NEXT),
            "@x": ("", START),
            "@g": ("M", ("g_start", True, ())),
            "@n": ("", ("N_server", False, ())),
        }
        form = f"@y - @x + {self._step('server_lr')} * (@g + @n)"
        self._with_each("server", left, form, "server_round_paired' @w P_server_lr")

    def _step(self, name: str) -> str:
        return self.w.coefficient(self.line.parameters[name], self.w.stated)

    def unbiased(self) -> None:
        """Prove <N_{i,k}, w> = 0 for w known before that noise."""
        self._orthogonal("S", NOISE, self._assumption("unbiased_noise", None))

    def server_unbiased(self) -> None:
        """Prove <N_server, w> = 0 for w known at the start."""
        self._orthogonal("server", ("N_server", False, ()), self._assumption("unbiased_server_noise", None))

    def _orthogonal(self, level: str, noise: Atom, label: str) -> None:
        """A noise is orthogonal to every term of the other vector."""
        whole = "(eq_refl 0)"
        cohort = "S" if level == "S" else "[]"
        for number, (term, c) in enumerate(self.vector(self.line.arguments["other"])):
            text, rewrite, _, _ = self._paired(level, noise, term)
            atom = nested_sums.known_text(term[1]) if nested_sums.at_start(term[1]) else ""
            if level == "S":
                before = f"apply before_start; exact {atom}" if atom else _before(term[1])
                last = f"apply {label}; [exact D|{before}]"
            else:
                last = f"apply {label}; exact {atom}"
            opened = "".join("rewrite ip_osum_r; apply osum_null; intros ? _. " for _ in term[0])
            families = f"{self.w.family(('', noise))}, {self.w.family(term)}"
            self.do(
                f"assert (Q{number} : {text} = 0).",
                f"{{ unfold B_, {families}. {opened}{last}. }}".replace("[] ", "[] ") if cohort else "",
                f"rewrite {rewrite} in Q{number}.",
            )
            whole = f"(plus_null {whole} (times_null {self.w.coefficient(c, self.w.stated)} Q{number}))"
        self._close(whole)

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
            scripts = [" ".join(nest_proofs.script(nest, "D", False)[1]) for nest in raw]
            if term[0] not in ("", "M"):
                raise NotExported("a projection paired with another vector than one at the start, or its mean")
            starts = [nested_sums.known_text(atom) for atom in (family, term[1])]
            proofs = [f"[intros; exact {starts[0]}|intros; exact {starts[1]}]", starts[1]]
            lemma = "conditional_mean_M" if term[0] else "conditional_mean"
            self.do(
                f"assert (Q{number} : {texts[0]} = {texts[1]}).",
                f"{{ transitivity (given {kind} (fun S => {raw[0].text()})).",
                f"  - apply (e_ext (given_exp {kind})). intros S. symmetry. {scripts[0]}",
                f"  - transitivity {raw[1].text()}; [|{scripts[1].rstrip('.').replace('. ', '; ')}].",
                f"    apply {lemma}; {proofs[0]}. }}",
            )
            pieces = [Piece((), ones[0]), Piece((Factor(self.w.ring.number(-1)),), ones[1])]
            sources.append(self.source(f"(Rminus_diag_eq _ _ Q{number})", pieces, True, c))
        self.finish(self.line.pieces(), sources)

    def expect_arbitrary(self) -> None:
        """Prove the expectation over an arbitrary cohort."""
        self._expect()

    def expect_uniform(self) -> None:
        """Prove the expectation over a uniformly drawn cohort."""
        self._expect()

    def _expect(self) -> None:
        """The expectation over the cohort of every entry."""
        (premise,), kind, w = self.line.premises, self.line.kind, self.w
        form = " + ".join(f"{w.coefficient(c, w.stated)} * {w.entry_text(e, 'S')}" for e, c in premise.form) or "0"
        given = f"given {kind} (fun S => {form})"
        cohort = "S D Z" if "size" in premise.parameters else "S D"
        proof = self.use(premise, cohort=cohort)
        start = "apply (sized_null P_size)." if premise.equality else "apply P_size."
        self.do(
            f"assert (Q : {given + ' = 0' if premise.equality else '0 <= ' + given}).",
            f"{{ {start} intros S D Z. exact {proof}. }}",
        )
        pieces, texts, proofs = [], [], []
        for entry, c in premise.form:
            made, text, step = self._expected(entry, kind)
            coefficient = w.coefficient(c, w.stated)
            pieces += [Piece((Factor(c), *p.factors), p.entry) for p in made]
            texts.append(f"{coefficient} * {text}")
            proofs.append(f"rewrite (e_scale (given_exp {kind})). apply (f_equal (Rmult {coefficient})). {step}")
        self.do(
            f"assert (T : {given} = {' + '.join(texts)}).",
            f"{{ {each_of(f'etransitivity; [apply (e_add (given_exp {kind}))|]. apply (f_equal2 Rplus).', proofs)} }}",
            "rewrite T in Q.",
        )
        self.finish(self.line.pieces(), [Source("Q", pieces, premise.equality)])

    def _expected(self, entry: Entry, kind: str) -> tuple[list[Piece], str, str]:
        """(the pieces of an entry's expectation, their sum as text, the proof)."""
        text = self.w.entry_text(entry, self.line.level)
        if nested_sums.entry_known(entry):
            return [Piece((), entry)], text, f"apply (e_const (given_exp {kind}))."
        atoms = [entry[2]] if entry[0] == "value" else [t[1] for t in entry[2:]]
        nest = nested_sums.of(entry)
        if (
            kind != "uniform"
            or not any(s.binder == "S" for s in nest.sums)
            or not all(map(nested_sums.at_start, atoms))
        ):
            return [Piece((), entry)], text, "reflexivity."
        return self._drawn(nest, entry)

    def _drawn(self, nest: Nest, entry: Entry) -> tuple[list[Piece], str, str]:
        """First and second moments of a uniform cohort."""
        label, share = self._assumption("uniform_cohorts", None), self.line.parameters["share"]
        cohorts = [s for s in nest.sums if s.binder == "S"]
        rest = tuple(s for s in nest.sums if s.binder != "S")
        front = Nest((*cohorts, *rest), nest.left, nest.right)
        turn = " ".join(nest_proofs.script(front, "D", False)[1])
        begin = (
            f"transitivity (given uniform (fun S => {front.text()})); "
            f"[apply (e_ext (given_exp uniform)); intros S; symmetry; {turn.rstrip('.').replace('. ', '; ')}|]."
        )
        all_of = [Sum("M", s.left, s.right) for s in cohorts]
        far = Nest((*all_of, *rest), nest.left, nest.right)
        done = [nested_sums.entry(far)]
        scripts = [" ".join(nest_proofs.script(far, "D", False)[1])]
        if len(cohorts) == 1:
            text = self.w.entry_text(done[0], self.line.level)
            proof = f"{begin} etransitivity; [apply (proj1 {label})|]. {scripts[0]}"
            return [Piece((), done[0])], text, proof
        if rest or len(cohorts) != 2:
            raise NotExported(f"{entry}: the expectation of it over a cohort")
        near = Nest((Sum("M", True, True),), nest.left, nest.right)
        done.insert(0, nested_sums.entry(near))
        scripts.insert(0, " ".join(nest_proofs.script(near, "D", False)[1]))
        parts = [Piece((Factor(share),), done[0]), Piece((Factor(1 - share),), done[1])]
        stated = [self.w.coefficient(c, self.w.stated) for c in (share, 1 - share)]
        texts = [self.w.entry_text(e, self.line.level) for e in done]
        text = f"({stated[0]} * {texts[0]} + (1 - {stated[0]}) * {texts[1]})"
        proof = (
            f"{begin} etransitivity; [apply (proj2 {label})|]. apply (f_equal2 Rplus); apply (f_equal (Rmult _)). "
            f"{{ {scripts[0]} }} {{ {scripts[1]} }}"
        )
        return parts, text, proof

    def mix(self) -> None:
        """Prove the expectation over uniform and arbitrary rounds."""
        self._mix("random_kinds", ("uniform", "arbitrary"), lambda q: (q, 1 - q))

    def mix_server(self) -> None:
        """Prove the expectation over the server's and the clients' rounds."""
        self._mix("random_client_rounds", ("server", "arbitrary"), lambda q: (1 - q, q))

    def _mix(self, assumed: str, kinds: tuple[str, str], weights) -> None:
        """Each late entry's expectation is that of the two kinds, with their probabilities."""
        q = self.scalar(self.line.arguments["probability"])
        label, factors = self._assumption(assumed, q), weights(q)
        own = dict.fromkeys(e for e, _ in self.line.form if not nested_sums.entry_known(e))
        proofs = []
        for number, entry in enumerate(own):
            inner = f"(fun S => {nested_sums.of(entry).text()})"
            self.do(f"pose proof ({label} {inner}) as L{number}.")
            proofs.append(f"L{number}")
        if proofs:
            self.do(f"rewrite {', '.join(proofs)}.")
        sources = [self.premise(p, factor) for p, factor in zip(self.line.premises, factors, strict=True)]
        late = set(own)
        known = [p for p in self.line.pieces() if p.entry not in late]
        shown = [
            Source(s.proof, [p for p in s.pieces if p.entry not in late], s.equality, s.multiplier, s.sign)
            for s in sources
        ]
        self.finish_with(known, sources, shown)


def _before(atom: Atom) -> str:
    name, _, step = atom
    if not step or step[0] != 1 or name not in ("x", "g", "N"):
        raise NotExported(f"{name}: not seen to be known before the noise")
    return f"apply before_{ {'x': 'X', 'g': 'G', 'N': 'N'}[name] }; lia"


__all__ = ["ONE", "Axioms"]
