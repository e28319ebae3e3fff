"""Checks of printed tables: what they find in the papers, computed here by hand, and that they can fail."""

from __future__ import annotations

from decimal import Decimal

import pytest
from scipy import stats

from fedtheory.evidence.findings import table_rows
from fedtheory.experiments.printed_tables import Table, tables
from fedtheory.experiments.reading import parse_toml
from fedtheory.experiments.table_checks import Checks, Finding, binomial_p, check, judge, reachable, read_checks


def found(paper: str, *words: str) -> Finding:
    """The one finding that has all the words."""
    (finding,) = [each for each in check(paper) if all(word in f"{each.where} {each.what}" for word in words)]
    return finding


@pytest.mark.parametrize(("paper", "verdict", "words"), [
    ("flics", "contradicted", ["NAIVE is more accurate", "6 of 6", "naive 65.5, method flics-avg 66.0", "3 of 3"]),
    ("flics", "contradicted", ["NAIVE outperforms", "2 of 9", "naive 49.6, method fedavg 53.1"]),
    ("flics", "agrees", ["changes beside FLICS-AVG", "all 11"]),
    ("fast", "contradicted", ["less than 10% snapshots", "2 of 12", "88.5", "89.0"]),
    ("fast", "contradicted", ["above q = 0 in every case", "1 of 84", "74.42±5.3", "74.84±1.2"]),
    ("fast", "partly", ["3% to 18%", "3 of 24", "difference 0.59", "all 8 comparisons agree"]),
    ("fast", "overlap", ["improves notably", "9 of 12"]),
    ("fast", "differs", ["Table 4 83.48±3.4, Table 6 83.48±3.9"]),
    ("fast", "repeated", ["74.77±0.6", "ratio 89.7 in both"]),
    ("fast", "unlikely", ["47.9% of 10000 rounds", "180 tests"]),
    ("fedau", "partly", ["differ less between clients", "11.6", "11.7"]),
    ("fedau", "agrees", ["the same results in two tables", "all 14"]),
    ("safari", "differs", ["80.71±0.38", "80±0.38"]),
    ("safari", "contradicted", ["loses negligibly", "difference 3.34"]),
    ("safari", "differs", ["and in the submission", "8 of 8", "16.65", "12.75"]),
    ("safari", "agrees", ["differences of the accuracies", "all 6"]),
])  # fmt: skip
def test_findings(paper: str, verdict: str, words: list[str]) -> None:
    assert found(paper, *words).verdict == verdict


def test_a_ratio_that_chance_does_not_give() -> None:
    p, count = binomial_p(Decimal("47.9"), 10000, 0.5)
    assert count == 4795
    assert p == pytest.approx(2 * stats.binom.cdf(4795, 10000, 0.5))
    assert 180 * p < 0.01
    assert binomial_p(Decimal("47.9"), 1000, 0.5)[0] > 0.1  # as the note in experiments/fast/checks.toml says
    assert binomial_p(Decimal("50.0"), 10000, 0.5) == (pytest.approx(1.0), 5000)


def test_shares_of_test_points() -> None:
    assert all(reachable(Decimal(k) / 100, 10000) for k in range(10001))
    assert not reachable(Decimal("12.35"), 100)


def changed(paper: str, number: str, old: str, new: str) -> list[Table]:
    """A paper's tables, one number of which is another."""
    out = []
    for table in tables(paper):
        if table.number == number and table.edition == "main":
            rows = [[new if text == old else text for text in row] for row in table.rows]
            assert rows != [list(row) for row in table.rows]
            table = Table.model_validate({**table.model_dump(), "rows": rows, "columns": list(table.columns)})
        out.append(table)
    return out


@pytest.mark.parametrize(("paper", "statement", "number", "old", "new", "verdict"), [
    ("fast", "uniform_best", "2", "92.21±0.3", "89.21±0.3", "contradicted"),
    ("fast", "default_below_5", "5", "95.5", "94.5", "contradicted"),
    ("flics", "changes_avg", "I", "57.0 (+1.4)", "57.0 (+1.9)", "contradicted"),
    ("fedau", "low_rates_fedau", "D.6.1", "45.6±1.2", "33.4±1.2", "contradicted"),
    ("safari", "gains_of_table_5", "2", "16.53", "16.56", "contradicted"),
    ("safari", "no_difference_mnist", "8", "91.08±0.13", "91.71±0.13", "contradicted"),
    ("safari", "degradation_mnist", "1", "57.05", "57.04", "contradicted"),
    ("safari", "iid_negligible", "1", "77.78", "79.78", "agrees"),
])  # fmt: skip
def test_one_changed_number_changes_the_verdict(
    paper: str, statement: str, number: str, old: str, new: str, verdict: str
) -> None:
    (stated,) = [each for each in read_checks(paper).statements if each.id == statement]
    before = judge(stated, tables(paper)).verdict
    assert before != verdict
    assert judge(stated, changed(paper, number, old, new)).verdict == verdict


def test_a_statement_about_no_cells_is_refused() -> None:
    text = """
[[statements]]
id = "x"
place = "p"
says = "s"

[[statements.readings]]
kind = "limit"
tables = ["99"]
"""
    (stated,) = parse_toml(text.encode(), "c.toml", Checks).statements
    with pytest.raises(ValueError, match="statement x: its reading 1 compares no cells"):
        judge(stated, tables("fast"))


def test_an_unknown_key_of_a_reading_is_named_with_its_line() -> None:
    text = """
[[statements]]
id = "x"
place = "p"
says = "s"

[[statements.readings]]
kind = "limit"
leest = 1.0
"""
    place = r"c.toml, line 9: statements\[0\].readings\[0\].leest"
    with pytest.raises(ValueError, match=place + " is unknown; did you mean 'least'"):
        parse_toml(text.encode(), "c.toml", Checks)


def test_what_the_checks_find_is_among_the_errata() -> None:
    rows = list(table_rows("flics"))
    assert {row.check for row in rows} == {"tables"}
    assert rows[0].what.startswith("contradicted: the text says that where availability is uniform")
    assert not list(table_rows("khaled2020"))
