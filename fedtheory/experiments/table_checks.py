"""Checks of printed tables: what a text says of them, cells that are printed twice, counts that are no chance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from itertools import combinations
from pathlib import Path

from pydantic import Field

from .comparisons import AnyComparison, Outcome, Paired, agree, beside, value
from .printed_tables import Cell, Table, cells, folder, half_unit, tables
from .reading import Listed, Strict, read_toml

SHOWN = 4
"""The most cells behind a finding that are written out."""


@dataclass(frozen=True)
class Finding:
    """Finding of a check.

    Attributes:
        tables: the tables it is about.
        where: the place of the text, or what was compared.
        what: one sentence, with the numbers.
        verdict: ``contradicted`` (under every reading), ``partly`` (under some), ``overlap`` (the signs are as said,
            some printed intervals overlap), ``differs``, ``repeated``, ``several runs``, ``unlikely``, ``impossible``,
            or ``agrees`` (nothing is wrong; what was looked at is said).
    """

    tables: str
    where: str
    what: str
    verdict: str

    def data(self) -> dict[str, str]:
        """Return the fields as a dictionary."""
        return asdict(self)


class Statement(Strict):
    """A sentence of a paper about its tables.

    Attributes:
        id: its name here.
        place: where it stands.
        says: what it says, in our words.
        beyond_spread: whether overlapping intervals are counted: for words such as "outperforms".
        note: what a reader should know besides.
        readings: each a comparison; the literal one first.
    """

    id: str
    place: str
    says: str
    beyond_spread: bool = False
    note: str = ""
    readings: Listed[AnyComparison] = Field(min_length=1)


class Drawn(Strict):
    """A sentence of a paper about what its figures alone show, without a printed number: it has a price, no verdict.

    Attributes:
        place: where it stands.
        says: what it says, in our words.
        like: the experiment file of which it would take runs, as "safari/grid.cifar10".
        runs: how many.
    """

    place: str
    says: str
    like: str
    runs: int = Field(gt=0)


class Binomial(Strict):
    """Shares that are counts of independent draws: round(100 k / trials, digits) with k ~ Bin(trials, chance).

    Attributes:
        measure: the label of the shares.
        tables: which tables.
        by: the label that decides the number of draws.
        trials: that number, by the label's value.
        chance: the label that holds the probability of the complement: the share is of rounds without it.
        level: of significance, after Bonferroni's correction over all shares.
        note: what a reader should know besides.
    """

    measure: str
    tables: Listed[str]
    by: str
    trials: dict[str, int]
    chance: str
    level: float = Field(default=0.05, gt=0, lt=1)
    note: str = ""


class Repeated(Strict):
    """Results that should be different numbers: a measure with its spread.

    Attributes:
        measure: of the results.
        by: only results with the same value of this label are compared.
        window: results within so many units of each other are as likely to coincide.
        level: of significance, after Bonferroni's correction over the values of ``by``.
        tables: which tables; all if none is given.
        note: what a reader should know besides.
    """

    measure: str
    by: str
    window: float = Field(default=1.0, gt=0)
    level: float = Field(default=0.05, gt=0, lt=1)
    tables: Listed[str] = ()
    note: str = ""


class Twice(Strict):
    """Numbers that stand in two tables, or in two editions, under labels of their own.

    Attributes:
        what: what is printed twice.
        note: what a reader should know besides.
        cells: which cells, and which others.
    """

    what: str
    note: str = ""
    cells: AnyComparison


class Checks(Strict):
    """Checks of a paper's tables besides that cells of the same labels agree."""

    statements: Listed[Statement] = ()
    drawn: Listed[Drawn] = ()
    same: Listed[Twice] = ()
    binomial: Listed[Binomial] = ()
    repeated: Listed[Repeated] = ()


def read_checks(paper: str, root: Path | None = None) -> Checks:
    """The checks of a paper; none if it has no such file."""
    path = (root or folder()) / paper / "checks.toml"
    return read_toml(path, Checks) if path.exists() else Checks()


def check(paper: str, root: Path | None = None) -> tuple[Finding, ...]:
    """Every check of a paper's tables, also those that find nothing wrong.

    >>> {finding.verdict for finding in check("nobody")}
    set()
    """
    printed, checks = tables(paper, root), read_checks(paper, root)
    found: list[Finding] = []
    for statement in checks.statements:
        found.append(judge(statement, printed))
    for twice in checks.same:
        found.append(compared(twice, printed))
    found += differing(printed)
    for repeated in checks.repeated:
        found += coincidences(repeated, printed)
    for binomial in checks.binomial:
        found += improbable(binomial, printed)
    found += impossible(printed)
    return tuple(found)


def judge(statement: Statement, printed: Sequence[Table]) -> Finding:
    """Judge a statement by the printed numbers.

    Raises:
        ValueError: a reading that compares nothing.
    """
    read = [(reading, list(reading.outcomes(printed))) for reading in statement.readings]
    for reading, outcomes in read:
        if not outcomes:
            raise ValueError(f"statement {statement.id}: its reading {reading.reading or 1} compares no cells")
    failing = [(reading, outcomes) for reading, outcomes in read if not all(each.holds for each in outcomes)]
    verdict = "contradicted" if len(failing) == len(read) else "partly" if failing else "agrees"
    parts = [_failed(reading.reading, outcomes) for reading, outcomes in failing]
    if verdict != "contradicted":
        parts += [_held(reading.reading, outcomes) for reading, outcomes in read if (reading, outcomes) not in failing]
    if statement.beyond_spread:
        overlap = [each for _, outcomes in read[:1] for each in outcomes if each.holds and each.overlap]
        if overlap:
            verdict = "overlap" if verdict == "agrees" else verdict
            parts.append(f"in {len(overlap)} of {len(read[0][1])} the intervals mean +- deviation overlap")
    what = f"the text says that {statement.says}: {'; '.join(parts)}"
    numbers = sorted({number for reading in statement.readings for number in reading.tables})
    name = "Table " + ", ".join(numbers) if len(numbers) == 1 else "Tables " + ", ".join(numbers)
    return Finding(name, statement.place, _noted(what, statement.note), verdict)


def _failed(reading: str, outcomes: Sequence[Outcome]) -> str:
    wrong = [each.text for each in outcomes if not each.holds]
    more = f"; {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
    shown = "; ".join(wrong[:SHOWN]) + more
    return f"{_read(reading)}{len(wrong)} of {len(outcomes)} comparisons contradict it ({shown})"


def _held(reading: str, outcomes: Sequence[Outcome]) -> str:
    said = f"all {len(outcomes)} comparisons agree" if len(outcomes) > 1 else f"it agrees ({outcomes[0].text})"
    return f"{_read(reading)}{said}"


def _read(reading: str) -> str:
    return f"read as {reading}, " if reading else ""


def _noted(what: str, note: str) -> str:
    return f"{what}. {note}" if note else what


def compared(twice: Twice, printed: Sequence[Table]) -> Finding:
    """Whether what is printed twice is the same number both times.

    Raises:
        ValueError: there are no such cells.
    """
    outcomes = list(twice.cells.outcomes(printed))
    if not outcomes:
        raise ValueError(f"{twice.what}: no cells are compared")
    wrong = [each.text for each in outcomes if not each.holds]
    said = f"{len(wrong)} of {len(outcomes)} differ ({'; '.join(wrong)})" if wrong else f"all {len(outcomes)} agree"
    others = twice.cells.than_tables if isinstance(twice.cells, Paired) else ()
    numbers = " and ".join(dict.fromkeys((*twice.cells.tables, *others)))
    name = f"Tables {numbers}" if " and " in numbers else f"Table {numbers}"
    return Finding(name, twice.what, _noted(said, twice.note), "differs" if wrong else "agrees")


def differing(printed: Sequence[Table]) -> Iterator[Finding]:
    """Cells of the same labels in different tables that are printed differently."""
    places: dict[tuple[tuple[str, str], ...], list[Cell]] = {}
    for cell in cells(printed):
        places.setdefault(tuple(sorted(cell.labels.items())), []).append(cell)
    pairs = [pair for same in places.values() for pair in combinations(same, 2) if pair[0].table is not pair[1].table]
    for cell, other in pairs:
        if not agree(cell, other):
            yield Finding(_both(cell, other), "the same result", beside(cell, other), "differs")
    if pairs and all(agree(*pair) for pair in pairs):
        yield Finding("all", "the same results in two tables", f"all {len(pairs)} pairs agree", "agrees")


def coincidences(rule: Repeated, printed: Sequence[Table]) -> Iterator[Finding]:
    """Different results that are the same number with the same spread, and how many such pairs chance gives.

    Among pairs of results whose spreads agree and whose values differ by at most the window w, with values printed in
    steps of g, one in 2 w / g + 1 agrees by chance.
    """
    entries = [cell for cell in cells(printed, rule.tables, measure=rule.measure) if cell.spread is not None]
    unique = {tuple(sorted(cell.labels.items())): cell for cell in reversed(entries)}
    groups: dict[str, list[Cell]] = {}
    for cell in reversed(unique.values()):
        groups.setdefault(cell.labels.get(rule.by, ""), []).append(cell)
    found = {name: _repeated(rule, group) for name, group in groups.items()}
    for name, (near, expected, same) in found.items():
        chance = poisson_tail(len(same), expected)
        listed = "; ".join(f"{_both(*pair)}, {beside(*pair)}{_companions(*pair)}" for pair in same)
        what = (
            f"{len(same)} pairs of different results are the same number with the same spread; {expected:.2g} are "
            f"expected by chance among {near} pairs of one spread within {rule.window:g} (p = {chance:.2g}, one of "
            f"{len(found)} tests){': ' * bool(listed)}{listed}"
        )
        odd = chance * len(found) < rule.level or any(_companions(*pair) for pair in same)
        where = f"{rule.measure}, {rule.by} {name}"
        yield Finding("all", where, _noted(what, rule.note), "repeated" if odd else "agrees")


def _repeated(rule: Repeated, group: Sequence[Cell]) -> tuple[int, float, list[tuple[Cell, Cell]]]:
    """Pairs of one spread and near values; how many of them coincide by chance; those that do."""
    window = Decimal(repr(rule.window))
    near = [(a, b) for a, b in combinations(group, 2) if a.spread == b.spread and abs(value(a) - value(b)) <= window]
    expected = sum(1 / (float(window / half_unit(value(a))) + 1) for a, _ in near)
    return len(near), expected, [(a, b) for a, b in near if value(a) == value(b)]


def _companions(cell: Cell, other: Cell) -> str:
    """Other measures of the same two settings that agree too."""
    mine, theirs = _others(cell), _others(other)
    return "".join(f", and {name} {text} in both" for name, text in mine.items() if theirs.get(name) == text)


def _others(cell: Cell) -> dict[str, str]:
    """Return the printed numbers of the same setting by other measures."""
    setting = {**cell.labels, "measure": ""}
    same = [each for each in cell.table.cells if each is not cell and {**each.labels, "measure": ""} == setting]
    return {each.labels["measure"]: each.text for each in same if each.value is not None}


def poisson_tail(count: int, mean: float) -> float:
    """Compute P(N >= count) for N ~ Poisson(mean).

    >>> round(poisson_tail(1, 0.5), 4)
    0.3935
    """
    from scipy import stats

    return float(stats.poisson.sf(count - 1, mean))


def improbable(rule: Binomial, printed: Sequence[Table]) -> Iterator[Finding]:
    """Find shares that are too far from their probability, and whether all of them together are.

    The exact two-sided binomial test of the count that is nearest to what is expected, among those that round to the
    printed share.
    """
    tested = []
    for cell in _unique(cells(printed, rule.tables, measure=rule.measure)):
        chance = _probability(cell.labels.get(rule.chance, ""))
        if chance is not None and cell.labels.get(rule.by) in rule.trials:
            trials = rule.trials[cell.labels[rule.by]]
            tested.append((*binomial_p(value(cell), trials, 1 - chance), cell, trials, 1 - chance))
    if not tested:
        return
    for p, count, cell, trials, chance in sorted(tested, key=lambda each: each[0]):
        corrected = min(1.0, p * len(tested))
        if corrected < rule.level:
            what = (
                f"{cell.where}: {cell.text}% of {trials} rounds, where {trials * chance:g} rounds are expected and the "
                f"nearest that rounds to it is {count}: p = {p:.2g}, and {corrected:.2g} after correction for "
                f"{len(tested)} tests"
            )
            yield Finding(f"Table {cell.table.number}", rule.measure, _noted(what, rule.note), "unlikely")
    statistic, p = dispersion(tested)
    what = (
        f"{len(tested)} shares, exact binomial tests: the least p is {min(each[0] for each in tested):.2g}; sum of "
        f"squared standardised distances {statistic:.1f} on {len(tested)} degrees of freedom, two-sided p = {p:.2g}"
    )
    yield Finding(
        f"Tables {', '.join(rule.tables)}",
        f"{rule.measure}, all together",
        what,
        "agrees" if p >= rule.level else "unlikely",
    )


def _unique(found: Iterable[Cell]) -> list[Cell]:
    """Cells of different labels; what is printed twice counts once."""
    return list({tuple(sorted(cell.labels.items())): cell for cell in found}.values())


def _probability(text: str) -> float | None:
    """A probability strictly between 0 and 1, ``None`` for anything else."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 < number < 1 else None


def binomial_p(percentage: Decimal, trials: int, chance: float) -> tuple[float, int]:
    """The p-value of a share that is printed in per cent, and the count tested: of those that round to it, the one
    nearest to trials * chance.

    >>> binomial_p(Decimal("47.9"), 10000, 0.5)[1]
    4795
    """
    from scipy import stats

    slack = half_unit(percentage)
    low, high = (float((percentage + sign * slack) * trials / 100) for sign in (-1, 1))
    count = round(min(max(trials * chance, low), high))
    return float(stats.binomtest(count, trials, chance).pvalue), count


def dispersion(tested: Sequence[tuple[float, int, Cell, int, float]]) -> tuple[float, float]:
    """The sum of squared standardised counts, and its two-sided p-value: too far off, or too near."""
    from scipy import stats

    statistic = sum(
        (float(value(cell)) * trials / 100 - trials * chance) ** 2 / (trials * chance * (1 - chance))
        for _, _, cell, trials, chance in tested
    )
    upper = float(stats.chi2.sf(statistic, len(tested)))
    return statistic, min(1.0, 2 * min(upper, 1 - upper))


def impossible(printed: Sequence[Table]) -> Iterator[Finding]:
    """Means of accuracies that no counts of right test points give; how many were looked at."""
    looked = able = 0
    for cell in cells(printed):
        measure = cell.measure
        if measure.points is not None:
            looked += 1
            able += 100 / Decimal(measure.points * (measure.evaluations or 1)) > 2 * half_unit(value(cell))
            if not reachable(value(cell), measure.points * (measure.evaluations or 1)):
                what = f"{cell.where}: {cell.text} is no share of {measure.points} test points"
                yield Finding(f"Table {cell.table.number}", "possible values", what, "impossible")
    if looked:
        what = f"{looked} accuracies looked at; of {able} some printed digits are no share of so many test points"
        yield Finding("all", "possible values", what, "agrees")


def reachable(percentage: Decimal, points: int) -> bool:
    """Whether 100 k / points rounds to the printed percentage for some whole number k.

    >>> reachable(Decimal("33.3"), 3), reachable(Decimal("34.0"), 3)
    (True, False)
    """
    slack = half_unit(percentage)
    nearest = (percentage * points / 100).to_integral_value()
    return abs(100 * nearest / points - percentage) <= slack


def _both(cell: Cell, other: Cell) -> str:
    numbers = dict.fromkeys(each.table.number for each in (cell, other))
    return ("Tables " if len(numbers) > 1 else "Table ") + " and ".join(numbers)
