"""Checks of everything that is published. Nothing is searched, and nothing counts that is not checked anew.

Checked are every proof by its certificates, the kernel's by the kernel and the checker that stands alone; every
instance in exact arithmetic; of every search the candidates with the largest left / right; every certificate of a worst
case; every claim's units and consistency. Then it is compared whether scorecard, pages of findings and the numbers
beside figures are what follows. What was measured on data is not measured again: its words have to follow from its
numbers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from ..claims.comparison import is_printed
from ..claims.statement import Claim
from ..evidence import assess, kept_searches, scorecard
from ..evidence.consistency import check_consistency
from ..evidence.findings import Known, Row, findings, merged, papers_fingerprint, step_rows, table_rows
from ..evidence.measured import DIGITS
from ..evidence.parallel_work import run_all
from ..evidence.replay import replay
from ..evidence.result_cache import Cache
from ..evidence.verdict import Verdict
from ..evidence.verdict_rule import PROVED_AND_REFUTED, overall
from ..evidence.work_done import work_of
from ..files import Damaged, json_text, read_file, read_json
from ..papers import all_claims, instance_path, papers
from ..papers import claim as find_claim

KINDS = ("certificate", "claim", "figure", "searches", "steps", "tables")
"""Kinds of check."""

KEPT = ("claim", "certificate", "steps")
"""Kinds of check whose results a run keeps until it has ended, so that it can go on."""

CARD = "scorecard.json"


class Difference(NamedTuple):
    """Something published that does not follow.

    Attributes:
        where: the file.
        key: the place in the file, or "".
        published, checked: what is written there, and what follows; the latter says why where nothing does.
    """

    where: str
    key: str
    published: Any
    checked: Any

    @property
    def text(self) -> str:
        """Describe it in one line.

        >>> Difference("scorecard.json", "a.thm1@main: verdict", "holds", "refuted").text
        "scorecard.json: a.thm1@main: verdict: published is 'holds', checked is 'refuted'"
        """
        place = f"{self.where}: {self.key}" if self.key else self.where
        return f"{place}: published is {_short(self.published)}, checked is {_short(self.checked)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}..."


@dataclass
class Checked:
    """Result of all checks.

    Attributes:
        card: the scorecard that follows.
        differences: what is published and does not follow.
        contradicted: the claims that are proved and refuted, with the sentence on each.
        counts: how many there are of what was checked, in words.
        left_out: what was taken as it is published, in words.
        resumed: how many checks were taken from a run of the same code on the same files that was interrupted.
        work: CPU seconds by check.
    """

    card: dict[str, Any]
    differences: list[Difference]
    contradicted: dict[str, str]
    counts: dict[str, int]
    left_out: list[str]
    resumed: int = 0
    work: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Places:
    """Places of the published files.

    Attributes:
        published: the folder of the scorecard, the searches and the tightness.
        docs: of the pages; figures: of the numbers beside figures. Where it is ``None`` they are not here.
    """

    published: Path
    docs: Path | None
    figures: Path | None


def places(figures: Path | None = None) -> Places:
    """Return the places of the published files: in a checkout of the sources those beside the package too."""
    root = Path(__file__).resolve().parents[2]
    docs, drawn = root / "docs", figures or root / "figures"
    return Places(assess.PUBLISHED, docs if docs.is_dir() else None, drawn if drawn.is_dir() else None)


# The tasks ----------------------------------------------------------------------------------------------------------


def check_claim(ref: str) -> dict[str, Any]:
    """Check a claim's units, hypotheses, proof and instances, and return its evidence, the findings about it, and what
    is published and does not follow."""
    statement, wrong = find_claim(ref), list[Difference]()
    instance = _instance(ref, "", wrong)
    needs = {kind: found for kind in assess.VIOLATIONS if (found := _instance(ref, kind, wrong)) is not None}
    inconsistent = check_consistency(statement)
    proof, decisions, composed = _proof(statement, wrong)
    evidence = {
        "units": assess.units_evidence(statement),
        "consistency": assess.consistency_evidence(inconsistent),
        "proof": proof,
        "needs": [assess.needs_evidence(kind, content) for kind, content in needs.items()],
    }
    known = Known(instance, needs, inconsistent, decisions)
    rows = [row.data() for row in findings(statement, known)] if is_printed(statement) else []
    counts = {
        "proofs": int(proof["steps"] > 0),
        "kernel": int(composed > 0),
        "instances": len(needs) + (instance is not None),
    }
    return {"evidence": evidence, "instance": instance, "rows": rows, "counts": counts, "wrong": wrong}


def _instance(ref: str, violated: str, wrong: list[Difference]) -> dict[str, Any] | None:
    """A published instance, replayed; where it does not say what its numbers say, as it is."""
    content, path = None, instance_path(ref, violated)
    try:
        content = assess.recorded_instance(ref, violated)
        if content is not None:
            replay(content)
    except ValueError as error:
        wrong.append(Difference(f"{path.parent.name}/{path.name}" if path else ref, "", "an instance", str(error)))
    return content if content and {"refutes", "ratio", "readings"} <= content.keys() else None


def _proof(statement: Claim, wrong: list[Difference]) -> tuple[dict[str, Any], tuple[Any, ...], int]:
    """What the scorecard tells of a claim's proof, its decided steps, and how many of them the kernel composes."""
    from ..papers.proofs import library
    from ..papers.saved_certificates import certified_library, published, reverify
    from ..proof import chains

    ref, again = statement.ref, partial(chains.proof_of, library=certified_library())
    if ref in published():
        try:
            chain = reverify(ref)
        except ValueError as error:
            wrong.append(Difference(f"certificates/{ref}.json", "", "a proof", str(error)))
            chain = chains.prove(statement, library())
    else:
        chain = chains.Chain(statement, None, ())
        if library().fitting(statement) or library().printed_proof(statement):
            wrong.append(Difference(f"certificates/{ref}.json", "", "no file", "a file, for there is a proof"))
    composed = sum(decision.step.kind == "composed" for decision in chain.decisions)
    return assess.proof_evidence(chain, again), chain.decisions, composed


def check_steps(paper: str) -> dict[str, Any]:
    """Check the certificates of all steps of a paper, and return the findings about those that fail."""
    from ..papers.saved_certificates import STEPS, certified_library
    from ..proof.step_certificates import own_steps

    try:
        library = certified_library()
        for name in own_steps(paper, library):
            library.decided(name)
        return {"rows": [row.data() for row in step_rows(paper, (), library)], "wrong": []}
    except ValueError as error:
        return {"rows": [], "wrong": [Difference(f"{paper}/certificates/{STEPS}", "", "certificates", str(error))]}


def check_tables(paper: str) -> dict[str, Any]:
    """Check a paper's printed tables, and return the findings."""
    return {"rows": [row.data() for row in table_rows(paper)], "wrong": []}


def check_searches(paper: str, file: Path) -> dict[str, Any]:
    """Judge again the candidates that the searches of a paper's claims kept."""
    wrong, known, count = list[Difference](), _searches(file), 0
    for ref, kept in known.items():
        for name in kept_searches.PLACES if ref.startswith(f"{paper}.") else ():
            if at := kept[name]:
                count += 1
                wrong += _place(ref, name, kept, at)
    return {"counts": {"candidates": count}, "wrong": wrong}


def _place(ref: str, name: str, kept: Mapping[str, Any], at: Mapping[str, Any]) -> Iterator[Difference]:
    """The numbers of a kept candidate that it does not give; of the largest ratio also the exact point near it."""
    try:
        again, exact = kept_searches.judged_again(find_claim(ref), name, at)
    except Exception as error:  # whatever a candidate that no search draws leads to
        yield Difference("searches.json", f"{ref}: {name}: candidate", "a candidate", f"none: {error}")
        return
    for key, value in again.items():
        was = at.get(key)
        if not kept_searches.same(was, value, exact=key == "rounds"):
            yield Difference("searches.json", f"{ref}: {name}: {key}", was, value)
    if name == kept_searches.PLACES[0]:
        pairs = _apart(kept.get("exact"), json.loads(json_text(exact)), "exact")
        yield from (Difference("searches.json", f"{ref}: {key}", *pair) for key, *pair in pairs)
        if exact and exact["refutes"]:
            yield Difference("searches.json", f"{ref}: exact", "no counterexample", "an instance that refutes it")


MEASURED = ("measured (", "99% interval")
"""Beginnings of the names of what a figure shows of runs."""


def check_figure(toml: Path, file: Path) -> dict[str, Any]:
    """Compute a figure's numbers anew, and compare them with those beside it: bounds, exact errors and worst cases, and
    what was measured too where these differ."""
    from .drawing import read_figure

    kind = read_figure(toml).kind
    try:
        beside = read_file(file).decode()
    except (OSError, ValueError) as error:
        return {"wrong": [Difference(f"figures/{file.name}", "", "unreadable", str(error))]}
    if getattr(kind, "measured", None) is not None:
        computed = [line for line in beside.splitlines() if not line.partition(",")[2].startswith(MEASURED)]
        if _numbers(kind.model_copy(update={"measured": None})).splitlines() == computed:
            return {"wrong": [], "counts": {"figures": 1}}
    return {"wrong": [*_lines(f"figures/{file.name}", beside, _numbers(kind))], "counts": {"figures": 1}}


def _numbers(kind: Any) -> str:
    """The numbers of a figure as text."""
    from matplotlib import pyplot

    from .figure_numbers import csv_text, numbers

    figure = kind.drawn()
    text = csv_text(numbers(figure))
    pyplot.close(figure)
    return text


def check_certificate(file: Path) -> dict[str, Any]:
    """Verify a certificate of a worst case, by its own arithmetic and by the checker that stands alone."""
    from ..proof.saved_proofs import checked_in
    from ..worstcase.certificates import Certificate

    try:
        Certificate.from_json(read_json(file)).verify()
        checked_in(file)
    except ValueError as error:
        return {"wrong": [Difference(f"{file.parent.name}/{file.name}", "", "a certificate", str(error))]}
    return {"wrong": [], "counts": {"certificates": 1}}


MOST_LINES = 5
"""Lines of one file that are told, where they differ."""


def _lines(where: str, published: str, checked: str) -> Iterator[Difference]:
    """The lines in which two texts differ, up to ``MOST_LINES``."""
    if published == checked:
        return
    import difflib

    old, new = published.splitlines(), checked.splitlines()
    told = 0
    for kind, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for k in range(max(i2 - i1, j2 - j1) if kind != "equal" else 0):
            if told == MOST_LINES:
                return
            told += 1
            was = old[i1 + k] if i1 + k < i2 else "no such line"
            now = new[j1 + k] if j1 + k < j2 else "no such line"
            yield Difference(where, f"line {min(i1 + k, i2) + 1}", was, now)


# All of it ----------------------------------------------------------------------------------------------------------


def check_published(
    where: Places,
    workers: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    kept: Path | None = None,
    only: Callable[[str], bool] = lambda ref: True,
) -> Checked:
    """Check everything that is published.

    Args:
        workers: processes (default: one a core).
        progress: called with (the check that ended, work done, work in all).
        kept: a folder for what is done of a run. A run that was interrupted goes on; one that ends clears it.
        only: which claims are checked, by ref; pages of findings and figures are compared where it leaves none out.
    """
    statements = [s for s in all_claims() if only(s.ref)]
    tasks = _tasks(statements, where, whole=len(statements) == len(all_claims()))
    cache, state = (Cache(kept), _state(where)) if kept else (None, "")
    lasting = [name for name in tasks if cache and name.partition(" ")[0] in KEPT]
    known = {name: result for name in lasting if cache and (result := cache.get(f"{state} {name}")) is not None}

    def ended(name: str, result: Any) -> None:
        if cache and name in lasting:
            cache.put(f"{state} {name}", result)

    left, spent = {name: task for name, task in tasks.items() if name not in known}, dict[str, float]()
    together = {name: _shares(name) for name in left}
    results = known | run_all(
        left, workers, progress, ended, None, together, (__name__,), work=work_of(left), spent=spent
    )
    checked = _compared(statements, where, results)
    checked.resumed = len(known)
    checked.work = spent
    if kept:
        for file in kept.glob("*.json"):
            file.unlink()
    return checked


def _tasks(statements: Iterable[Claim], where: Places, whole: bool) -> dict[str, Callable[[], dict[str, Any]]]:
    """The checks, by kind and of what; figures first, which one process draws while others do the rest."""
    statements = list(statements)
    of = {s.paper: None for s in statements}
    tasks: dict[str, Callable[[], dict[str, Any]]] = {}
    if whole and where.figures:
        tasks |= {f"figure {name}": task for name, task in _figures(where.figures).items()}
    tasks |= {f"claim {s.ref}": partial(check_claim, s.ref) for s in statements}
    tasks |= {f"searches {paper}": partial(check_searches, paper, where.published / "searches.json") for paper in of}
    if whole:
        tasks |= {f"steps {paper}": partial(check_steps, paper) for paper in of}
        tasks |= {f"tables {paper}": partial(check_tables, paper) for paper in of}
        for file in sorted((where.docs / "certificates").glob("*.json")) if where.docs else ():
            tasks[f"certificate {file.stem}"] = partial(check_certificate, file)
    return tasks


def _figures(folder: Path) -> dict[str, Callable[[], dict[str, Any]]]:
    """The figures that are named after a claim, whose numbers are computed from claims alone."""
    from ..experiments.printed_tables import folder as experiments
    from .figure_files import FOLDER

    tasks: dict[str, Callable[[], dict[str, Any]]] = {}
    for statement in all_claims():
        toml = experiments() / statement.paper / FOLDER / f"{statement.id.partition('.')[2]}.toml"
        if toml.is_file():
            tasks[statement.id] = partial(check_figure, toml, folder / f"{statement.id}.csv")
    return tasks


def _shares(name: str) -> str:
    """What a task shares with others: what draws, or the certificates of a paper."""
    kind, _, of = name.partition(" ")
    return kind if kind == "figure" else of.partition(".")[0]


def _state(where: Places) -> str:
    """A hash of the files that the checks of ``KEPT`` read."""
    content = hashlib.sha256(papers_fingerprint().encode())
    for file in sorted((where.docs / "certificates").glob("*.json")) if where.docs else ():
        content.update(file.name.encode() + file.read_bytes())
    return content.hexdigest()


# Whether what is published follows ----------------------------------------------------------------------------------


def _compared(statements: list[Claim], where: Places, results: Mapping[str, Mapping[str, Any]]) -> Checked:
    wrong = [Difference(*each) for result in results.values() for each in result["wrong"]]
    counts: dict[str, int] = {"claims": len(statements)}
    for result in results.values():
        for kind, number in result.get("counts", {}).items():
            counts[kind] = counts.get(kind, 0) + number
    published = _read(where.published / CARD, {"rows": []}, wrong)
    rows = {f"{row['id']}@{row['edition']}": row for row in published["rows"]}
    verdicts = _verdicts(statements, rows, _searches(where.published / "searches.json", wrong), results, wrong)
    card = scorecard.to_json(verdicts)
    whole = len(statements) == len(all_claims())
    wrong += _rows_differ(card["rows"], published["rows"], whole)
    wrong += (each for s in statements if s.ref in rows for each in _measured_apart(s.ref, rows[s.ref]))
    wrong += _tightness(where.published / "tightness.json", {s.ref for s in statements})
    if published.get("schema") != card["schema"]:
        wrong.append(Difference(CARD, "schema", published.get("schema"), card["schema"]))
    if whole and where.docs:
        wrong += _pages(where.docs / "findings", statements, results)
    contradicted = {v.claim: v.why for v in verdicts if v.verdict == PROVED_AND_REFUTED}
    return Checked(card, wrong, contradicted, counts, _left_out(where, rows))


def _left_out(where: Places, rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is taken as it is published, in words."""
    data = {m["data"] for row in rows.values() for m in row["evidence"]["measured"]}
    said = [
        "that searches found no more",
        f"what was measured (on {' and '.join(sorted(data))}, and in figures)",
        "the solver's tightness",
    ]
    said += ["pages of findings, which are not here"] * (where.docs is None)
    return said + ["numbers beside figures, which are not here"] * (where.figures is None)


def _verdicts(
    statements: list[Claim],
    rows: Mapping[str, Mapping[str, Any]],
    searches: Mapping[str, Any],
    results: Mapping[str, Mapping[str, Any]],
    wrong: list[Difference],
) -> list[Verdict]:
    verdicts, first = [], assess.twins(statements)
    for statement in statements:
        ref, twin = statement.ref, first[statement.ref]
        found = results[f"claim {ref}"]
        kept, instance = searches.get(twin), found["instance"]
        expected = assess.is_searched(find_claim(twin), results[f"claim {twin}"]["instance"], assess.QUICK)
        if expected and kept is None and ref == twin:
            wrong.append(Difference("searches.json", ref, "absent", "a search, as of every claim that none refutes"))
        measured = rows[twin]["evidence"]["measured"] if twin in rows and assess.measurable(statement) else []
        evidence = assess.row_evidence(found["evidence"], instance, measured, kept)
        word, why = overall(evidence)
        verdicts.append(Verdict(ref, word, why, evidence, instance, kept))
    for ref in searches:
        if ref not in first.values() and len(statements) == len(all_claims()):
            wrong.append(Difference("searches.json", ref, "a search", "absent: no claim of that name is searched"))
    return verdicts


def _measured_apart(ref: str, row: Mapping[str, Any]) -> Iterator[Difference]:
    """Entries of what was measured that do not follow from the others; the numbers have six digits."""
    measured = row["evidence"]["measured"]
    if assess.measurable(find_claim(ref)) and DIGITS.dataset not in (known["data"] for known in measured):
        yield Difference(CARD, f"{ref}: evidence.measured", measured, f"what was measured on {DIGITS.dataset}")
    for place, known in enumerate(measured):
        holds = min(known["slack"].values(), default=0.0) >= 0
        outcome = (
            "not applicable" if not holds else "holds" if known["left_interval"][0] <= known["right"] else "exceeded"
        )
        follows = {"hypotheses_hold": holds, "ratio": known["left"] / known["right"], "outcome": outcome}
        for key, value in follows.items():
            near = key == "ratio" and abs(known[key] - value) <= 1e-5 * abs(value)
            if known[key] != value and not near:
                yield Difference(CARD, f"{ref}: evidence.measured[{place}].{key}", known[key], value)


def _searches(file: Path, wrong: list[Difference] | None = None) -> dict[str, Any]:
    """The kept searches; none where the file cannot be read, which is told."""
    found = _read(file, {"searches": {}}, [] if wrong is None else wrong)["searches"]
    return {ref: kept for ref, kept in found.items() if _is_kept(ref, kept, wrong)}


def _is_kept(ref: str, kept: Any, wrong: list[Difference] | None) -> bool:
    try:
        kept_searches.summary(kept)
        find_claim(ref)
    except (KeyError, TypeError, ValueError) as error:
        if wrong is not None:
            wrong.append(Difference("searches.json", ref, "a search", f"none: {error}"))
        return False
    return True


def _read(file: Path, otherwise: dict[str, Any], wrong: list[Difference]) -> dict[str, Any]:
    try:
        content = read_json(file)
        if missing := otherwise.keys() - content.keys():
            raise Damaged(file, f"{min(missing)} is missing")
        return content
    except (FileNotFoundError, ValueError) as error:
        wrong.append(Difference(file.name, "", "unreadable", str(error)))
        return otherwise


def _rows_differ(checked: list[dict[str, Any]], published: list[dict[str, Any]], whole: bool) -> Iterator[Difference]:
    """Every entry of the scorecard that is not what follows; rows that are missing, too many, or twice."""
    found, known = ({f"{r['id']}@{r['edition']}": r for r in rows} for rows in (checked, published))
    for ref in found:
        if ref not in known:
            yield Difference(CARD, ref, "absent", f"verdict {found[ref]['verdict']}")
        else:
            plain = json.loads(json_text(found[ref]))
            yield from (Difference(CARD, f"{ref}: {key}", *pair) for key, *pair in _apart(known[ref], plain, ""))
    names = [f"{r['id']}@{r['edition']}" for r in published]
    for ref in dict.fromkeys(names) if whole else ():
        if ref not in found:
            yield Difference(CARD, ref, f"verdict {known[ref]['verdict']}", "absent: there is no such claim")
        elif names.count(ref) > 1:
            yield Difference(CARD, ref, f"{names.count(ref)} rows", "1 row")


def _apart(published: Any, checked: Any, key: str) -> Iterator[tuple[str, Any, Any]]:
    """The entries in which two pieces of plain data differ, each with its key."""
    if isinstance(published, dict) and isinstance(checked, dict):
        for name in dict.fromkeys([*published, *checked]):
            inner = f"{key}.{name}" if key else name
            yield from _apart(published.get(name, "absent"), checked.get(name, "absent"), inner)
    elif isinstance(published, list) and isinstance(checked, list) and len(published) == len(checked):
        for place, pair in enumerate(zip(published, checked, strict=True)):
            yield from _apart(*pair, f"{key}[{place}]")
    elif type(published) is not type(checked) or published != checked:
        yield key, published, checked


def _tightness(file: Path, refs: set[str]) -> Iterator[Difference]:
    """Entries of the scorecard's column that do not follow from the numbers beside them."""
    from ..tightness.scorecard_column import column

    wrong: list[Difference] = []
    for ref, entry in _read(file, {"claims": {}}, wrong)["claims"].items():
        if ref not in refs:
            continue
        constants = [SimpleNamespace(**each) for each in entry.get("constants", [])]
        known: Any = SimpleNamespace(
            status=entry["status"],
            why=entry.get("why", ""),
            looseness=entry.get("looseness"),
            constants=constants,
            after=[SimpleNamespace(**each) for each in entry.get("after", [])],
            larger=entry.get("class_is_larger", False),
            contraction=entry.get("contraction"),
            best_additive=None if entry.get("best_additive") is None else float(entry["best_additive"]),
        )
        pairs = _apart(entry["column"], json.loads(json_text(column(known))), "")
        yield from (Difference("tightness.json", f"{ref}: column.{key}", *pair) for key, *pair in pairs)
    yield from wrong


def _pages(folder: Path, statements: list[Claim], results: Mapping[str, Mapping[str, Any]]) -> Iterator[Difference]:
    """Lines of the pages of findings that are not what is generated from what was found."""
    from .generated_docs import BEGIN, END, generated

    for page in sorted(folder.glob("*.md")):
        paper = page.stem
        if paper not in papers():
            yield Difference(f"findings/{page.name}", "", "a page", "absent: there is no such paper")
            continue
        found = [Row(**row) for s in statements if s.paper == paper for row in results[f"claim {s.ref}"]["rows"]]
        said = {(row.where, row.what) for row in found}
        steps = (Row(**row) for row in results[f"steps {paper}"]["rows"])
        found += [row for row in steps if (row.where, row.what) not in said]
        tables = [Row(**row) for row in results[f"tables {paper}"]["rows"]]
        text = read_file(page).decode("utf-8").partition(BEGIN)[2].partition(END)[0].strip()
        yield from _lines(f"findings/{page.name}", text, generated(paper, (*merged(found), *tables)))
