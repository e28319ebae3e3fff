"""The tightness of every convergence claim, as rows and as a page."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ..claims.statement import Claim
from ..papers import all_claims
from .measure import NOT_APPLICABLE, Tightness, tightness

SHOWN = ("smoothness", "strong_convexity", "clients", "cohort", "arbitrary_cohort", "local_steps", "initial_distance",
         "dissimilarity", "gradient_noise", "server_noise")  # fmt: skip
"""Quantities that most rows share: the page says them once."""

HEAD = """# How tight the claims are

Written by `fedtheory tightness --all --save docs/tightness.md`. Every claim at one choice of its quantities: defaults,
step sizes at the caps of its own hypotheses; `fedtheory tightness CLAIM name=value ...` takes others. What a worst case
is: [worst-case.md](worst-case.md).

- **factor a round**: the bound's, of the squared initial distance, and the least that the class of functions has.
- **adds**: what the bound adds to that after its rounds; **least**: the best constant with the same factor;
  **looseness**: their ratio. It is below 1 only where a bound does not hold in the class. Where snapshots come in every
  I-th round, snapshots and other rounds have factors of their own, whose product over I rounds is that of the bound.
- **bound**, **worst**, **attained**: after the rounds, the claim's right side, what no federation of the class exceeds,
  and the exact error of quadratic clients of the class.
- **gain shown**: (|x_0 - x*|^2 - bound) / (|x_0 - x*|^2 - worst), of squared distances.
"""


OF_GRADIENTS = """## Squared gradients

Of a claim on the mean of squared gradients after a few rounds: what its terms have of F(x_0) - F*, of delta^2 and of
sigma^2, each beside the least that would do over all smooth convex federations. The terms of the other constants
stay as they are. Where a constant has several terms, the least of each (in `--json`) is their least total less the
other ones, or 0. The claims do not ask for convexity, and what happens after more rounds is not in these numbers.
"""


OF_ONE_ROUND = """## One round

Of a lemma on one round: what its right side has of |x_0 - x*|^2, of delta^2 and of sigma^2, each beside the least that
would do over all federations. What else happens in the round, such as |grad F(x_0)|^2 or the drift, stays on both
sides. Lemmas that ask for no convexity are compared over all smooth functions.
"""


def convergence_claims() -> list[Claim]:
    """Return all claims about errors of runs or gradients, and all others that assume strong convexity."""
    return [
        c
        for c in all_claims()
        if c.functional.scope == "run"
        or c.functional.name.endswith("squared_gradient")
        or "strongly_convex" in c.assumed
    ]


def table(
    statements: Sequence[Claim] | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    **given: Any,
) -> list[Tightness]:
    """Compute the tightness of each claim, at the default choice of quantities that are not given; ``progress`` is
    called with (claims done, claims in all)."""
    asked, entries = convergence_claims() if statements is None else statements, list[Tightness]()
    for done, each in enumerate(asked):
        progress(done, len(asked))
        entries.append(tightness(each, **given))
    return entries


def rows(entries: Sequence[Tightness]) -> list[dict[str, str]]:
    """Write a line of text for each tightness."""
    return [_row(each) for each in entries]


def _row(entry: Tightness) -> dict[str, str]:
    last = entry.after[-1] if entry.after else None
    return {
        "claim": entry.claim,
        "status": entry.status,
        "factor a round": _factors(entry.contraction, entry.class_contraction),
        "adds": number(entry.additive),
        "least": number(entry.best_additive),
        "looseness": number(entry.looseness),
        "rounds": "" if last is None else str(last.rounds),
        "bound": number(None if last is None else last.bound),
        "worst": number(None if last is None else last.worst),
        "attained": number(None if last is None else last.attained),
        "gain shown": number(None if last is None else last.decrement_ratio),
    }


def rows_of_constants(entries: Sequence[Tightness]) -> list[dict[str, str]]:
    """Write a line of text for each constant of each claim on squared gradients or on one round."""
    return [
        {
            "claim": entry.claim,
            "of": each.of,
            "terms": ", ".join(each.terms),
            "rounds": str((entry.values or {}).get("rounds", 1)),
            "participants": str(each.cohort),
            "coefficient": number(each.coefficient),
            "least": "inaccurate" if each.least is None else number(each.least),
            "looseness": number(each.looseness),
        }
        for entry in entries
        for each in entry.constants
    ]


def number(value: float | None) -> str:
    """Write three digits, or "" for none.

    >>> number(0.123456), number(None)
    ('0.123', '')
    """
    return "" if value is None else f"{value:.3g}"


def _factor(value: float | None) -> str:
    """Six digits: it is near 1."""
    return "" if value is None else f"{value:.6f}"


def _factors(bound: float | None, least: float | None) -> str:
    """Write both, or "" for none.

    >>> _factors(0.9995, 0.999), _factors(None, None)
    ('0.999500 / 0.999000', '')
    """
    both = _factor(bound), _factor(least)
    return " / ".join(both) if any(both) else ""


def page(entries: Sequence[Tightness]) -> str:
    """Write the page in Markdown."""
    known = [each for each in entries if each.status != NOT_APPLICABLE]
    lines = [HEAD, *_markdown(rows([each for each in known if not each.constants])), "", OF_GRADIENTS]
    lines += [*_markdown(rows_of_constants([each for each in known if each.after])), "", OF_ONE_ROUND]
    lines += [
        *_markdown(rows_of_constants([each for each in known if not each.after])),
        "",
        "## At which quantities",
        "",
        *_settings(known),
        "",
    ]
    lines += ["## What to know of them", "", *_remarks(known), "", "## Not applicable", "", *_reasons(entries)]
    return "\n".join(lines) + "\n"


def _markdown(lines: Sequence[dict[str, str]]) -> Iterator[str]:
    if not lines:
        return
    yield f"| {' | '.join(lines[0])} |"
    yield f"|{' --- |' * len(lines[0])}"
    for line in lines:
        yield f"| {' | '.join(line.values())} |"


def _values(entry: Tightness) -> dict[str, str]:
    return {name: getattr(value, "text", None) or f"{float(value):.6g}" for name, value in (entry.values or {}).items()}


def _settings(entries: Sequence[Tightness]) -> Iterator[str]:
    """Write the values that most claims share once, then each claim's own."""
    each = {entry.claim: _values(entry) for entry in entries}
    shared = {
        n: v
        for n, v in next(iter(each.values()), {}).items()
        if n in SHOWN and sum(one.get(n) == v for one in each.values()) > len(each) / 2
    }
    yield f"Unless said otherwise {', '.join(f'{n} = {v}' for n, v in list(shared.items())[:5])},"
    yield f"{', '.join(f'{n} = {v}' for n, v in list(shared.items())[5:])}."
    yield ""
    for ref, values in each.items():
        own = {n: v for n, v in values.items() if shared.get(n) != v and _matters(ref, n, entries)}
        yield f"- {ref}: {', '.join(f'{n} = {v}' for n, v in own.items())}"


def _matters(ref: str, name: str, entries: Sequence[Tightness]) -> bool:
    """Whether the claim, or a class that stands for its assumptions, knows of the quantity."""
    from ..papers import claim

    return name in claim(ref).quantities or name in ("dissimilarity", "gradient_noise", "clients")


def _remarks(entries: Sequence[Tightness]) -> Iterator[str]:
    said: dict[str, list[str]] = {}
    for entry in entries:
        for remark in (*entry.warnings, *entry.differences, *_exceeding(entry)):
            said.setdefault(remark, []).append(entry.claim)
    for remark, claims in said.items():
        whose = "all" if len(claims) == len(entries) else ", ".join(claims)
        yield f"- {remark}: {whose}"


def _exceeding(entry: Tightness) -> Iterator[str]:
    if entry.refuted:
        yield "a quadratic federation of the claim's class exceeds the bound"
    elif entry.exceeded:
        yield "the worst case exceeds the bound" + (
            ", in a class that is larger than the claim's" if entry.larger else ""
        )


def _reasons(entries: Sequence[Tightness]) -> Iterator[str]:
    left = sorted((each for each in entries if each.status == NOT_APPLICABLE), key=lambda each: each.why)
    for why, group in itertools.groupby(left, key=lambda each: each.why):
        yield f"- {why}: {', '.join(each.claim for each in group)}"


def content(entry: Tightness) -> dict[str, Any]:
    """Write one entry for the command line: its values, its constants, then a table over rounds."""
    known = {
        "claim": entry.claim,
        "status": entry.status,
        "at": {n: v for n, v in _values(entry).items() if _matters(entry.claim, n, ())},
    }
    if entry.constants:
        return known
    return known | {
        "factor_a_round" if not entry.whole else "factor": {
            "bound": _factor(entry.contraction) or "none",
            "class": _factor(entry.class_contraction) or "none",
        },
        "adds": {
            "bound": number(entry.additive) or "none",
            "least": number(entry.best_additive) or "none",
            "looseness": number(entry.looseness) or "none",
        },
    }


def over_rounds(entry: Tightness) -> list[dict[str, str]]:
    """Write bound, worst case and attained error after rounds."""
    return [
        {
            "rounds": str(each.rounds),
            "bound": f"{each.bound:.6g}",
            "worst": _six(each.worst),
            "attained": _six(each.attained),
            "gain shown": number(each.decrement_ratio),
        }
        for each in entry.after
    ]


def over_values(found: Mapping[Fraction, Tightness], over: str) -> list[dict[str, str]]:
    """Write a curve's values, what is after the last round, and the looseness there."""
    lines = []
    for value, entry in found.items():
        last = entry.after[-1]
        ratio = f"{last.bound / last.worst:.3g}" if last.worst else ""
        least = [each.looseness for each in entry.constants if each.looseness is not None]
        lines.append(
            {
                over: f"{float(value):.6g}",
                "rounds": str(last.rounds),
                "bound": f"{last.bound:.6g}",
                "worst": _six(last.worst),
                "bound / worst": ratio,
                "attained": _six(last.attained),
                "looseness": number(entry.looseness if entry.looseness is not None else min(least, default=None)),
            }
        )
    return lines


def _six(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def remarks(entry: Tightness) -> list[str]:
    """Write warnings, differences of the classes, and whether the bound is exceeded."""
    return [*_exceeding(entry), *entry.warnings, *entry.differences]
