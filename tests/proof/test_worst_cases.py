"""Certificates of worst cases as theorems of the kernel: what they say, what is refused, what they prove of claims."""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fedtheory.cli import app
from fedtheory.papers import claim
from fedtheory.proof import chains, checker
from fedtheory.proof.kernel import worst_case_theorems
from fedtheory.proof.kernel.forms import Atom, Term, Value, Vector, square
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.round_rules import average, contraction, expect_arbitrary, expect_uniform, mix
from fedtheory.proof.kernel.saved_theorems import saved
from fedtheory.proof.kernel.scalars import Ring
from fedtheory.proof.kernel.theorems import Refused, Theorem, combine, instantiate
from fedtheory.proof.kernel.worst_case_theorems import Constants, worst_case
from fedtheory.proof.saved_proofs import check_file
from fedtheory.proof.worst_case_editions import NumericEdition, one_round
from tests.work import counted

FILES = sorted((Path(__file__).parents[2] / "docs" / "certificates").glob("*.json"))
KEPT = {file.stem: json.loads(file.read_text()) for file in FILES}
RING = Ring("k K L mu M q share sigma sigma_G sigma_s")
k, K, L, mu, M, q, share, sigma, sigma_G, sigma_s = RING.symbols
NONE = RING.number(0)
TENTH = L / 10


def where(*changes: Condition, kappa: Fraction = Fraction(1, 10)) -> Where:
    """mu >= kappa L, L > 0, M >= 1, no noise; other conditions in the place of those on the same letters."""
    plain = (Condition("mu", "at_least", L * kappa), Condition("L", "positive"), Condition("M", "count"),
             Condition("sigma", "interval", NONE), Condition("sigma_s", "interval", NONE),
             Condition("sigma_G", "nonnegative"))  # fmt: skip
    given, names = {c.name: c for c in changes}, {c.name for c in plain}
    more = (c for c in changes if c.name not in names)
    return Where(RING, (*more, *(given.get(c.name, c) for c in plain)))


def constants(data: dict, **changes: Any) -> Constants:
    of = Constants(L, mu, sigma_G**2, sigma**2, sigma_s**2, M if data["clients"] is None else None)
    return replace(of, **changes)


def kappa_of(data: dict) -> Fraction:
    return Fraction(data["functions"]["strong_convexity"]) / Fraction(data["functions"]["smoothness"])


def theorem(data: dict) -> Theorem:
    return worst_case(data, where(kappa=kappa_of(data)), constants(data))


def put(data: dict, *at: Any) -> dict:
    """A copy with the last of ``at`` in the place of the others."""
    made = copy.deepcopy(data)
    here: Any = made
    for part in at[:-2]:
        here = here[part]
    here[at[-2]] = at[-1]
    return made


SAYS = {
    "fast": ("start", "", "final"), "fast.contracting": ("start", "", "final"), "safari": ("start", "", "final"),
    "safari.contracting": ("start", "", "final"), "uniform_cohort": ("kind", "uniform", "final"),
    "local_sgd": ("cohort", "", "final"), "local_sgd.quadratics": ("cohort", "", "final"),
    "local_sgd.convex.average_gap": ("run", "", "average"), "local_sgd.two_rounds.final_gap": ("run", "", "gap"),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_each_kept_certificate_is_a_theorem_that_the_checker_accepts(name: str) -> None:
    with counted(10**6):
        made = theorem(KEPT[name])
    assert (made.context, made.kind) == SAYS[name][:2]
    with counted(10**6):
        assert checker.check(json.loads(json.dumps(saved(made)))) == 1
    names = {n for n, _ in made.assumptions}
    assert {
        "smooth",
        "strongly_convex",
        "bounded_noise",
        "bounded_dissimilarity_at_optimum",
        "cohort_is_a_set",
    } <= names
    assert ("quadratic" in names) == ("quadratics" in name)
    assert ("random_kinds" in names, "random_client_rounds" in names) == ("fast" in name, "safari" in name)
    assert ("uniform_cohorts" in names) == (name.startswith(("fast", "uniform")))


def test_the_right_side_is_computed() -> None:
    made = theorem(KEPT["uniform_cohort"])
    factor, addition = contraction(made)
    assert factor == Fraction("46140008283/50000000000")
    assert addition == sigma_G**2 / L**2 * Fraction("1422469263/20000000000")
    assert dict(made.parameters) == {"local_lr": 1 / (L * 10), "local_steps": 4, "clients": 10, "size": 2,
                                     "share": Fraction(4, 9)}  # fmt: skip


def test_units_of_a_certificate_do_not_matter() -> None:
    """The same certificate with L = 3 and steps of a third says the same."""
    for name in ("fast", "local_sgd.two_rounds.final_gap", "local_sgd.quadratics"):
        data = copy.deepcopy(KEPT[name])
        force = 0 if name != "local_sgd.two_rounds.final_gap" else 1
        data["functions"] |= {"smoothness": "3", "strong_convexity": "3/10"}
        for each in data["rounds"]:
            for _, kind in each:
                kind["local_lr"] = [str(Fraction(lr) / 3) for lr in kind["local_lr"]]
        data["contraction"] = str(Fraction(data["contraction"]) * 3**force)
        data["additive"] = [[*at, str(Fraction(nu) * Fraction(3) ** (force - 2))] for *at, nu in data["additive"]]
        one, other = theorem(KEPT[name]), theorem(data)
        assert (one.form, one.parameters, one.assumptions) == (other.form, other.parameters, other.assumptions)
        assert checker.check(json.loads(json.dumps(saved(other)))) == 1


# what the kernel refuses


@pytest.mark.parametrize("name", ["local_sgd", "local_sgd.quadratics", "uniform_cohort"])
def test_a_number_changed_in_the_wrong_direction_makes_no_theorem(name: str) -> None:
    data, tried = KEPT[name], 0
    for part in ("contraction", "additive", "pairs", "operators", "symmetric"):
        for at, value in _numbers(data[part], (part,)):
            few = Fraction(1, max(value.denominator, 10**9))
            wrong = {"contraction": [value - few], "additive": [value - few], "pairs": [value - few, value + few]}
            for new in wrong.get(part, [-value]):
                with pytest.raises(Refused, match="certificate: "):
                    theorem(put(data, *at, str(new)))
                tried += 1
    assert tried > 15


def _numbers(data: Any, at: tuple) -> Any:
    if isinstance(data, str):
        yield at, Fraction(data)
    elif isinstance(data, list):
        for i, part in enumerate(data):
            yield from _numbers(part, (*at, i))


REGIONS: dict[str, tuple[str, Callable[[], Where], dict, str]] = {
    "less convex": ("local_sgd", lambda: where(kappa=Fraction(99, 1000)), {}, "mu = mu: not certified to be at least"),
    "mu of no bound": ("local_sgd", lambda: where(Condition("mu", "positive")), {}, "not certified to be at least"),
    "L = 0": ("local_sgd", lambda: where(Condition("L", "nonnegative")), {}, "L = L: not certified to be > 0"),
    "noise": ("local_sgd", lambda: where(Condition("sigma", "nonnegative")), {}, "exact gradients"),
    "the server's noise": ("safari", lambda: where(Condition("sigma_s", "nonnegative")), {}, "exact gradients"),
    "a server without noise": ("safari", where, {"server_noise": None}, "server_noise: allowed is a scalar"),
    "a dissimilarity below 0": ("local_sgd", where, {"dissimilarity": -(sigma_G**2)}, "not certified to be >= 0"),
    "clients of which there are 10": ("fast", where, {"clients": M}, "clients = M"),
    "no clients": ("local_sgd", where, {"clients": None}, "clients = None"),
    "half a client": ("local_sgd", where, {"clients": RING.number(Fraction(1, 2))}, "not certified to be >= 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", REGIONS)
def test_a_region_that_the_certificate_is_not_about_is_refused(name: str) -> None:
    file, region, changes, said = REGIONS[name]
    with pytest.raises(Refused, match=said):
        worst_case(KEPT[file], region(), constants(KEPT[file], **changes))


def test_a_certificate_that_says_nothing_of_dissimilarity_is_about_none() -> None:
    from fedtheory.worstcase import local_sgd, strongly_convex
    from fedtheory.worstcase import worst_case as solve

    found = solve(strongly_convex(smoothness=1, strong_convexity="1/10"), local_sgd(local_lr="1/10", local_steps=2))
    data = json.loads(json.dumps(found.certificate().to_json()))
    with pytest.raises(Refused, match="where they say nothing of dissimilarity"):
        worst_case(data, where(), constants(data))
    none = where(Condition("sigma_G", "interval", NONE))
    made = worst_case(data, none, constants(data))
    assert ("bounded_dissimilarity_at_optimum", sigma_G**2) in made.assumptions
    text = json.dumps(saved(made))
    assert checker.check(json.loads(text)) == 1
    wider = json.loads(text)
    wider["regions"][0] = [[n, "nonnegative", None] if n == "sigma_G" else [n, c, b] for n, c, b in wider["regions"][0]]
    with pytest.raises(checker.Wrong, match="may be negative"):
        checker.check(wider)
    flat = json.loads(text)  # a form without L, whose steps are c/L all the same
    flat["regions"][0] = [[n, "nonnegative", None] if n == "L" else [n, c, b] for n, c, b in flat["regions"][0]]
    with pytest.raises(checker.Wrong, match="L may be 0"):
        checker.check(flat)


def test_the_points_of_an_average_are_those_of_the_metric(beyond: dict) -> None:
    """F at the start and after the first of two rounds; the gradient at the start of one."""
    made = theorem(beyond["from round 0"])
    half = RING.number(Fraction(-1, 2))
    assert {e.point.name: c for e, c in made.form.entries.items() if isinstance(e, Value)} == {
        "x": half, "x+": half, "x*": RING.number(1)}  # fmt: skip
    gradient = theorem(beyond["gradient at the start"])
    (entry,) = square(Vector(RING, {Term("M", Atom("g_start", True)): RING.number(1)})).entries
    assert gradient.form.entries[entry] == -1
    for each in (made, gradient):
        assert checker.check(json.loads(json.dumps(saved(each)))) == 1


WORDS = {
    "replacement": ("replacement", "draws with replacement"), "pull": ("pull", "no proximal term"),
    "global_lr": ("global_lr", "no server's step"), "steps": ("steps", "local steps of one size"),
    "gradients": ("gradients", "no gradients after a round"), "one set": ("one set", "of everyone"),
    "no such mixture": ("no such mixture", "the kernel has no such mixture"),
    "two algorithms": ("two algorithms", "allowed is one algorithm"),
}  # fmt: skip


@pytest.fixture(scope="module")
def beyond() -> dict[str, dict]:
    """Certificates of what the kernel has no word for, and of averages."""
    from fedtheory.worstcase import Arbitrary, Cohort, ServerStep, Training, local_sgd, mixture, strongly_convex
    from fedtheory.worstcase import worst_case as solve

    def two(who: Any = None, lr: str = "1/4", **more: Any) -> Any:
        return local_sgd(local_lr=lr, local_steps=2, participants=who, **more)

    cases = {
        "replacement": (two(Cohort(2, True)), {"clients": 3}), "pull": (two(proximal="1/3"), {}),
        "global_lr": (two(global_lr="1/2"), {}), "steps": (Training((Fraction(1, 4), Fraction(1, 8))), {}),
        "gradients": (two(), {"metric": "final_squared_gradient"}),
        "one set": (two(Arbitrary(2)), {"clients": 3, "rounds": 2}),
        "from round 0": (two(), {"rounds": 2, "metric": "average_gap", "average": "r = 0..R-1"}),
        "gradient at the start": (two(), {"metric": "average_squared_gradient", "average": "r = 0..R-1"}),
        "no such mixture": (mixture(("1/2", two(Cohort(2))), ("1/2", ServerStep(Fraction(1, 4)))), {"clients": 3}),
        "two algorithms": (mixture(("1/2", two(Cohort(2))), ("1/2", two(Arbitrary(2), "1/8"))), {"clients": 3}),
    }  # fmt: skip
    functions = strongly_convex(smoothness=1, strong_convexity="1/10")
    return {name: json.loads(json.dumps(solve(functions, algorithm, dissimilarity_at_optimum=1, **options)
                                        .certificate().to_json()))
            for name, (algorithm, options) in cases.items()}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_what_the_kernel_has_no_word_for_is_refused_by_both(beyond: dict, name: str) -> None:
    data, said = beyond[WORDS[name][0]], WORDS[name][1]
    assert checker.verified(data)
    with pytest.raises(Refused, match=said):
        theorem(data)
    line = json.loads(json.dumps(saved(theorem(KEPT["fast"]))))
    line["theorems"][0]["arguments"] |= {"certificate": data, "clients": None}
    if data["clients"] is None:
        line = json.loads(json.dumps(saved(theorem(KEPT["local_sgd"]))))
        line["theorems"][0]["arguments"]["certificate"] = data
    with pytest.raises(checker.Wrong):
        checker.check(line)


def without_refusing(self: Any) -> dict:
    """Steps as the kernel's rule makes them, of the first kind alone and whatever else a client does."""
    first, smooth = self.plan.kinds[0], self.problem.functions.smoothness
    return {"local_lr": self.number(first.local_lr[0] * smooth) / self.L,
            "local_steps": self.number(len(first.local_lr)), "clients": self.clients}  # fmt: skip


UNCHECKED: dict[str, tuple[str, dict[str, Callable], str]] = {
    "replacement": ("replacement", {"_name": lambda self, kind: "uniform", "_share": lambda self, kind:
                                    self.number(Fraction(1, 2))}, "a cohort that is no set"),
    "pull": ("pull", {"_steps": without_refusing}, "local steps that differ"),
    "global_lr": ("global_lr", {"_steps": without_refusing}, "local steps that differ"),
    "steps": ("steps", {"_steps": without_refusing}, "local steps that differ"),
    "one set": ("one set", {"_name": lambda self, kind: "everyone"}, "several rounds that are not everyone's"),
    "two algorithms": ("two algorithms", {"_steps": without_refusing}, "two algorithms: local_lr"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNCHECKED)
def test_the_checker_refuses_what_a_rule_without_its_checks_would_make(
    beyond: dict, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, changes, said = UNCHECKED[name]
    for method, made in changes.items():
        monkeypatch.setattr(worst_case_theorems._Said, method, made)
    data = json.loads(json.dumps(saved(theorem(beyond[file]))))
    with pytest.raises(checker.Wrong, match=said):
        checker.check(data)


# what is forged in a saved proof


WIDER = {
    "noise": ("local_sgd", "sigma", "nonnegative"), "the server's noise": ("safari", "sigma_s", "nonnegative"),
    "L = 0": ("local_sgd", "L", "nonnegative"), "mu of no bound": ("local_sgd", "mu", "positive"),
    "no clients": ("local_sgd", "M", "positive"),
}  # fmt: skip


@pytest.mark.parametrize("name", WIDER)
def test_a_region_that_was_widened_is_refused(name: str) -> None:
    file, letter, kind = WIDER[name]
    data = json.loads(json.dumps(saved(theorem(KEPT[file]))))
    data["regions"][0] = [[n, kind, None] if n == letter else [n, c, b] for n, c, b in data["regions"][0]]
    with pytest.raises(checker.Wrong, match=r"may be negative|may be 0"):
        checker.check(data)


def forged(name: str, change: Callable[[dict], object]) -> dict:
    data = json.loads(json.dumps(saved(theorem(KEPT[name]))))
    change(data["theorems"][0])
    return data


def scalar(value: object) -> dict:
    one = [[[0] * len(RING.names), "1"]]
    return {"top": [[[0] * len(RING.names), str(value)]], "bottom": one}


CONTEXTS = [("cohort", ""), ("start", ""), ("run", ""), ("kind", "uniform"), ("kind", "arbitrary"), ("kind", "server")]


@pytest.mark.parametrize("name", SAYS)
def test_another_context_is_refused(name: str) -> None:
    for context, kind in CONTEXTS:
        if (context, kind) == SAYS[name][:2]:
            continue
        with pytest.raises(checker.Wrong, match="not what the rule concludes"):
            checker.check(forged(name, lambda line, c=context, g=kind: line.update(context=c, kind=g)))


@pytest.mark.parametrize("name", ["fast", "safari", "uniform_cohort", "local_sgd.quadratics"])
def test_nothing_of_a_saved_theorem_may_be_forged(name: str) -> None:
    line = json.loads(json.dumps(saved(theorem(KEPT[name]))))["theorems"][0]
    changes: dict[str, Callable[[dict], object]] = {
        "an equality": lambda it: it.update(equality=True),
        "up to the end": lambda it: it.update(path_to_the_end=True),
        "no premise": lambda it: it.update(premises=[0]),
        "another algorithm": lambda it: it["parameters"].update(momentum=scalar(1)),
        "an argument more": lambda it: it["arguments"].update(margin=scalar(1)),
        "no certificate": lambda it: it["arguments"].update(certificate=None),
        "another L": lambda it: it["arguments"].update(L=scalar(1)),
        "an entry less": lambda it: it["form"].pop(),
    }
    for i in range(len(line["assumptions"])):
        changes[f"assumption {i}"] = lambda it, i=i: it["assumptions"].pop(i)
    for parameter in line["parameters"]:
        changes[f"parameter {parameter}"] = lambda it, n=parameter: it["parameters"].update({n: scalar("7/8")})
        changes[f"no {parameter}"] = lambda it, n=parameter: it["parameters"].pop(n)
    for i in range(len(line["form"])):
        changes[f"entry {i}"] = lambda it, i=i: it["form"][i][1]["top"][0].__setitem__(1, "99/100")
    for what, change in changes.items():
        with pytest.raises(checker.Wrong):
            checker.check(forged(name, change))
            pytest.fail(what)


def test_a_changed_certificate_in_a_saved_theorem_is_refused() -> None:
    """One leaf of the certificate changed, in every field: it proves nothing then, or something else."""
    draw = random.Random(3)
    for name in ("fast", "local_sgd.quadratics", "local_sgd.two_rounds.final_gap"):
        for part, whole in KEPT[name].items():
            places = list(_leaves(whole, ()))
            for at, value in draw.sample(places, min(len(places), 6)):
                new: Any = not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else "1/7"
                data = forged(name, lambda it, at=at, v=new, p=part: _set(it["arguments"]["certificate"], (p, *at), v))
                if (name.endswith("final_gap") and part == "average") or part == "everywhere":
                    continue  # a final gap is no average; a larger class of assumptions that is not used
                with pytest.raises(checker.Wrong):
                    checker.check(data)
                    pytest.fail(f"{name} {part} {at} {value} {new}")


def _set(data: Any, at: tuple, value: Any) -> None:
    for part in at[:-1]:
        data = data[part]
    data[at[-1]] = value


def _leaves(data: Any, at: tuple) -> Any:
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else None
    if parts is None:
        if data is not None:
            yield at, data
        return
    for name, part in parts:
        yield from _leaves(part, (*at, name))


def test_cycles_and_huge_certificates_are_refused_with_bounded_work() -> None:
    cycle = forged("fast", lambda it: it.update(premises=[0]))
    with pytest.raises(checker.Wrong, match="a cycle"), counted(10**6):
        checker.check(cycle)
    many = forged("fast", lambda it: it["arguments"]["certificate"].update(pairs=[[0, 0, 1, "0"]] * 10**5))
    with pytest.raises(checker.Wrong, match="theorem 0: pairs: 100000 entries"), counted(10**6):
        checker.check(many)
    far = forged("fast", lambda it: it["form"][0][1]["top"].append([[0] * 10, "1"]) or it.update(form=[
        [["product", "", ["", ["x_61", False, []]], ["", ["x_61", False, []]]], scalar(1)]]))  # fmt: skip
    with pytest.raises(checker.Wrong), counted(10**6):
        checker.check(far)


# composition


def test_theorems_of_certificates_compose() -> None:
    """Everyone, in either kind of round, mixed; and no two algorithms."""
    data = KEPT["local_sgd"]
    region = where(Condition("q", "interval", RING.number(1)), Condition("share", "interval", 1 / M))
    everyone = worst_case(data, region, constants(data))
    snapshot, arbitrary = expect_uniform(everyone, M, share, region), expect_arbitrary(everyone, M)
    mixed = mix(snapshot, arbitrary, q, region)
    assert checker.check(json.loads(json.dumps(saved(mixed)))) == 4
    factor, addition = contraction(mixed)
    assert (factor, addition) == (Fraction("23070382537/25000000000"),
                                  sigma_G**2 / L**2 * Fraction("517760561/100000000000"))  # fmt: skip
    with pytest.raises(Refused, match="two algorithms: local_steps"):
        other = _with_steps(data, 3, region)
        combine([(everyone, 1), (other, 1)], where=region, context="cohort")
    with pytest.raises(Refused, match="given the"):
        combine([(everyone, 1)], where=region, context="start")
    with pytest.raises(Refused, match="not certified to be in"):
        contraction(theorem(KEPT["fast"]))
    with pytest.raises(Refused, match="of the whole run"):
        average(theorem(KEPT["local_sgd.two_rounds.final_gap"]))


def _with_steps(data: dict, steps: int, region: Where) -> Theorem:
    from fedtheory.worstcase import local_sgd, strongly_convex
    from fedtheory.worstcase import worst_case as solve

    functions = strongly_convex(smoothness=1, strong_convexity="1/10")
    found = solve(functions, local_sgd(local_lr="1/10", local_steps=steps), dissimilarity_at_optimum=1)
    made = json.loads(json.dumps(found.certificate().to_json()))
    return worst_case(made, region, constants(made))


def test_letters_may_be_given_other_values() -> None:
    made = theorem(KEPT["local_sgd"])
    smaller = where(Condition("mu", "at_least", L / 5))
    known = instantiate(made, {"L": L * 2, "mu": mu * 2}, smaller)
    assert dict(known.parameters)["local_lr"] == 1 / (L * 20) and ("smooth", L * 2) in known.assumptions
    assert checker.check(json.loads(json.dumps(saved(known)))) == 2
    with pytest.raises(Refused, match="not certified"):
        instantiate(made, {"mu": mu / 2}, where())


# the statement on federations


def federation(draw: random.Random, clients: int, curved: tuple[Fraction, Fraction]) -> list[tuple[Fraction, Fraction]]:
    """(a_i, b_i) of clients a_i x^2/2 + b_i x with the optimum 0, curvatures at the ends of their range for most."""
    slopes = [Fraction(draw.choice((-1, 1, 3, 0))) for _ in range(clients)]
    mean = sum(slopes) / clients
    ends = [draw.choice((*curved, *curved, sum(curved) / 2)) for _ in range(clients)]
    return [(a, b - mean) for a, b in zip(ends, slopes, strict=True)]


def trained(client: tuple[Fraction, Fraction], x: Fraction, step: Fraction, steps: int) -> Fraction:
    for _ in range(steps):
        x -= step * (client[0] * x + client[1])
    return x


def error(clients: list, x: Fraction, kind: dict, step: Fraction, server: Fraction) -> Fraction:
    """The largest E|x+|^2 of a kind of round over what an adversary may choose."""
    if kind["kind"] == "server":
        return (x - server * sum(a * x + b for a, b in clients) / len(clients)) ** 2
    ends = [trained(c, x, step, len(kind["local_lr"])) for c in clients]
    who = kind["participants"]
    if who["kind"] == "everyone":
        return (sum(ends) / len(ends)) ** 2
    of = [sum(some) ** 2 / who["size"] ** 2 for some in itertools.combinations(ends, who["size"])]
    return sum(of) / len(of) if who["kind"] == "cohort" else max(of)


def excess(name: str, draw: random.Random, curved: tuple[str, str] = ("1/10", "1"), smooth: int = 3) -> Fraction:
    """E|x+|^2 less the theorem's bound, of quadratics on a line with L = 3 in the steps."""
    data = KEPT[name]
    clients = federation(draw, data["clients"] or 4, tuple(smooth * Fraction(c) for c in curved))  # type: ignore[arg-type]
    x = Fraction(draw.choice((-2, -1, 0, 1, 5)), draw.choice((1, 4)))
    rates = {key: Fraction(kind[key] if key == "server_lr" else kind[key][0]) / smooth
             for _, kind in data["rounds"][0] for key in ("local_lr", "server_lr") if key in kind}  # fmt: skip
    zeta = max(abs(b) for _, b in clients)
    left = sum(Fraction(p) * error(clients, x, kind, rates["local_lr"], rates.get("server_lr", Fraction(0)))
               for p, kind in data["rounds"][0])  # fmt: skip
    nu = sum(Fraction(row[-1]) for row in data["additive"])
    return left - Fraction(data["contraction"]) * x**2 - nu * zeta**2 / smooth**2


@pytest.mark.parametrize("name", [n for n in KEPT if SAYS[n][0] != "run"])
def test_the_theorem_holds_on_federations_and_not_beyond_its_class(name: str) -> None:
    draw = random.Random(name)
    assert all(excess(name, draw) <= 0 for _ in range(25))
    assert any(excess(name, draw, ("-1", "1")) > 0 for _ in range(60))  # not convex


# claims

CLAIMS = {"fast.contracting": "fast.thm2", "safari.contracting": "safari.thm5@sharper", "uniform_cohort": "fast.thm2",
          "local_sgd": "fast.thm2@wide"}  # fmt: skip


@pytest.mark.parametrize("name", CLAIMS)
def test_a_numeric_edition_is_proved_and_a_smaller_floor_is_not(name: str) -> None:
    edition = NumericEdition(claim(CLAIMS[name]), KEPT[name])
    chain = edition.prove()
    assert (chain.verdict, chain.joints) == ("proved", "kernel")
    assert set(chain.source.origin.axioms()) == {"worst case"}  # type: ignore[union-attr]
    assert not proved(edition, terms={"floor": edition.claim.term("floor").expression * Fraction(999, 1000)})


def proved(edition: NumericEdition, terms: dict | None = None, **changes: Any) -> bool:
    """Whether the same library proves another statement."""
    other = replace(edition.claim.edited("edited", "a change", terms=terms or {}), **changes)
    return chains.proof_of(other, edition.library) is not None


def test_no_stronger_statement_is_proved() -> None:
    """Smaller terms, without an assumption, other counts, with noise, longer steps; weaker ones are."""
    edition = NumericEdition(claim("fast.thm2"), KEPT["uniform_cohort"])
    statement = edition.claim
    for term in statement.terms:
        assert not proved(edition, terms={term.name: term.expression * Fraction(999, 1000)}), term.name
        assert proved(edition, terms={term.name: term.expression * 2}), term.name
    for kind in ("smooth", "strongly_convex", "bounded_noise", "bounded_dissimilarity", "uniform_cohorts"):
        less = tuple(a for a in statement.assumptions if a.kind != kind)
        assert len(less) < len(statement.assumptions) and not proved(edition, assumptions=less), kind
    for name, value in {"local_steps": 5, "clients": 9, "cohort": 1, "snapshot_probability": Fraction(1, 2)}.items():
        assert not proved(edition, bound={**statement.bound, name: value}), name
    assert not proved(edition, bound={n: v for n, v in statement.bound.items() if n != "gradient_noise"})
    assert not proved(edition, choices={n: v * 2 for n, v in statement.choices.items()})
    assert not proved(edition, hypotheses=tuple(h for h in statement.hypotheses if h.name != "curvature"))


@pytest.mark.parametrize("name", ["factor", "addition", "bound", "theorem"])
def test_what_was_put_into_an_edition_does_not_count(name: str) -> None:
    """The claim that an edition states is computed from its certificate when it is compared."""
    edition = NumericEdition(claim("fast.thm2"), KEPT["uniform_cohort"])
    zero, other = edition.theorem.where.ring.number(0), one_round(KEPT["fast.contracting"])
    vars(edition)[name] = {"factor": zero, "addition": zero, "bound": {}, "theorem": other}[name]
    assert edition.prove().verdict == "unknown"


def of_one_hessian(who: dict, clients: int | None, additive: list) -> dict:
    """Certificate of half of the rounds by the server and half by clients, with one step of 1/2 and mu = L = 1."""
    kept = KEPT["safari.contracting"]
    steps = {"local_lr": ["1/2"], "global_lr": "1", "proximal": "0"}
    kinds = {"kind": "training", "participants": who, **steps}, {"kind": "server", "server_lr": "1/2"}
    return {**kept, "functions": {"smoothness": "1", "strong_convexity": "1", "quadratic": False}, "pairs": [],
            "rounds": [[["1/2", kind] for kind in kinds]], "clients": clients, "contraction": "1/4",
            "additive": additive}  # fmt: skip


def test_rounds_of_everyone_or_the_server_say_that_all_take_part() -> None:
    """Of half of two clients the first round from x* leaves it: clients' gradients there are not 0."""
    edition = NumericEdition(claim("safari.thm5"), of_one_hessian({"kind": "everyone"}, None, [[0, 0, "0"]]))
    assert edition.prove().verdict == "proved"
    assert "everyone" in {h.name for h in edition.claim.hypotheses} and "dissimilarity" not in edition.claim.bound
    assert not proved(edition, hypotheses=tuple(h for h in edition.claim.hypotheses if h.name != "everyone"))


def test_a_certificate_without_dissimilarity_is_of_claims_without_it() -> None:
    """Where clients' gradients at x* are not 0, a run of half of two clients has a floor."""
    edition = NumericEdition(claim("safari.thm5"), of_one_hessian({"kind": "arbitrary", "size": 1}, 2, []))
    assert edition.prove().verdict == "proved" and edition.claim.bound["dissimilarity"] == 0
    assert not proved(edition, bound={n: v for n, v in edition.claim.bound.items() if n != "dissimilarity"})


def test_an_edition_is_read_as_its_theorem_also_where_its_claim_is_read_in_one_way() -> None:
    """Snapshots may come by a period where nothing says that they do not: then the round before one is worse."""
    edition = NumericEdition(claim("fast.eq30"), KEPT["fast.contracting"])
    assert edition.prove().verdict == "proved"
    read = {a.name: a.options for a in edition.claim.ambiguities}
    assert read == {"snapshots": ("probability",), "uniform cohort": ("without replacement",)}
    assert not proved(edition, ambiguities=tuple(a for a in edition.claim.ambiguities if a.name != "snapshots"))


def test_it_is_smaller_than_the_papers_at_these_numbers() -> None:
    """The floor, against that of the widest edition; the step is at its cap."""
    statement = NumericEdition(claim("fast.thm2@wide"), KEPT["fast.contracting"]).claim
    values = dict(smoothness=1, strong_convexity=0.1, dissimilarity=1, gradient_noise=0, initial_distance=0, rounds=1,
                  cohort=2, arbitrary_cohort=5, local_steps=4, snapshot_probability=0.25)  # fmt: skip
    mine = float(statement.evaluate(**values, clients=10).value)
    paper = float(claim("fast.thm2@wide").evaluate(**values, local_lr=1 / 32).value)
    assert mine == pytest.approx(56.70698, rel=1e-6) and 1.1 < paper / mine < 1.12


REFUSED = [
    ("fast.thm1", "fast.contracting", "allowed is a claim about"),
    ("fast.thm2", "safari.contracting", "has no such rounds"),
    ("safari.thm5@sharper", "fast.contracting", "has no such rounds"),
    ("safari.thm5@sharper", "uniform_cohort", "has no such rounds"),
    ("khaled2020.thm1", "local_sgd", "allowed is a claim about"),
    ("fast.thm2", "fast", "no bound over many rounds"),
    ("fast.thm2", "local_sgd.quadratics", "quadratic: the vocabulary of claims"),
    ("fast.thm2", "local_sgd.two_rounds.final_gap", "has no such rounds"),
]


@pytest.mark.parametrize(("ref", "file", "said"), REFUSED)
def test_what_has_no_numeric_edition(ref: str, file: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        NumericEdition(claim(ref), KEPT[file])


def test_the_command_proves_saves_and_checks(tmp_path: Path) -> None:
    file = Path(FILES[0]).parent / "fast.contracting.json"
    run = CliRunner().invoke
    done = run(app, ["prove", "fast.thm2", "--worst-case", str(file), "--save", str(tmp_path / "it.json")])
    assert done.exit_code == 0 and "fast.thm2@worst_case: proved" in done.stdout
    assert "(247/250)**rounds*initial_distance**2" in done.stdout and "local_steps = 4" in done.stdout
    assert check_file(tmp_path / "it.json") == {"theorem": 1}
    text = (tmp_path / "it.json").read_text()
    (tmp_path / "it.json").write_text(text.replace("6804837797", "6804837796"))
    assert run(app, ["prove", "--check", str(tmp_path / "it.json")]).exit_code == 1
    assert run(app, ["prove", "fast.thm2", "--worst-case", str(FILES[0]), "--recheck"]).exit_code == 2


def test_a_theorem_of_a_certificate_is_not_exported_to_coq() -> None:
    from fedtheory.proof.coq import exported

    with pytest.raises(ValueError, match="worst case"):
        exported(NumericEdition(claim("fast.thm2"), KEPT["fast.contracting"]).prove())


def test_one_round_of_each_kept_certificate_that_is_about_one() -> None:
    kinds = {name: one_round(data).kind for name, data in KEPT.items() if SAYS[name][0] != "run"}
    assert kinds == {"fast": "", "fast.contracting": "", "safari": "", "safari.contracting": "", "uniform_cohort":
                     "uniform", "local_sgd": "arbitrary", "local_sgd.quadratics": "arbitrary"}  # fmt: skip
