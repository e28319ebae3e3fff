"""Figure files: all are valid and complete, what is wrong is said with its line, and drawing writes both files."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import fedtheory as ft
from fedtheory.cli import app
from fedtheory.experiments.printed_tables import folder
from fedtheory.experiments.results import experiment_files, published
from fedtheory.papers import all_claims
from fedtheory.report.drawing import draw, figures, read_figure
from fedtheory.report.figure_files import figure_files, is_figure
from fedtheory.report.pictures import KINDS
from fedtheory.report.pictures.result_pictures import MeasuredBounds, _bound, _shared_average

FILES = figure_files()
QUICK = folder() / "fedau" / "figures" / "inconsistency.toml"
THM1 = (folder() / "fast" / "figures" / "thm1.toml").read_text()
CONVERGENCE = ("run", "selection", "weights")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.parent.name}.{path.stem}")
def test_every_file_is_valid(path: Path) -> None:
    file = read_figure(path)
    assert file.checked.paper == path.parent.parent.name and is_figure(path)
    assert file.command == f"fedtheory run experiments/{file.checked.paper}/figures/{path.name}"
    assert file.checked.caption.endswith(".") and not file.checked.title.endswith(".")


def test_names_are_unique_and_every_kind_is_used() -> None:
    assert len(figures(Path("figures"))) == len(FILES)
    assert {read_figure(path).kind.kind for path in FILES} == set(KINDS)


def test_every_convergence_theorem_has_a_figure() -> None:
    """Theorems and corollaries about runs, selections and weights, in a printed edition and, where there is one, in a
    repaired one."""
    shown = {
        ref for path in FILES if read_figure(path).kind.kind == "bounds" for ref in read_figure(path).kind.claims()
    }
    claims = [c for c in all_claims() if re.match(r"\w+\.(thm|cor)", c.id) and c.functional.scope in CONVERGENCE]
    missing = {c.id for c in claims} - {ref.partition("@")[0] for ref in shown}
    # The same bounds, under one more hypothesis and without the gradients' length.
    assert missing == {"fedau.thm2.nearly_optimal", "fedau.cor4.nearly_optimal"}
    repaired = {c.id for c in claims if c.edition in ("corrected", "sharp")}
    without = repaired - {ref.partition("@")[0] for ref in shown if not ref.endswith(("@main", "@appendix"))}
    assert not without


def test_all_that_is_drawn_is_kept_beside_its_numbers() -> None:
    kept = {path.name for path in (folder().parent / "figures").iterdir()}
    names = {read_figure(path).name for path in FILES}
    assert {f"{name}.{suffix}" for name in names for suffix in ("png", "csv")} == kept


MISTAKES = [
    ('kind = "bounds"', 'kind = "bound"', "figure.kind = 'bound' is unknown; did you mean 'bounds'?"),
    ("rounds = 10_000", "round = 10_000", "figure.round is unknown; did you mean 'rounds'?"),
    ('"fast.thm1"', '"fast.thm11"', "fast.thm11"),
    ("local_lr", "local_rate", "local_rate is unknown"),
    ("caption = ", "captoin = ", "captoin is unknown; did you mean 'caption'?"),
    ("replicas = 8", "replicas = 0", "replicas = 0: input should be greater than or equal to 1"),
    ("rounds = 10_000", 'rounds = "many"', "figure.rounds = 'many': input should be a valid integer"),
    ('kind = "Fixed"', 'kind = "Fixt"', "'Fixt' is unknown; did you mean 'Fixed'?"),
]


@pytest.mark.parametrize(("right", "wrong", "said"), MISTAKES, ids=lambda text: text[:20])
def test_a_mistake_is_told_with_its_line(right: str, wrong: str, said: str, tmp_path: Path) -> None:
    assert right in THM1
    line = THM1[: THM1.index(right)].count("\n") + 1
    path = tmp_path / "mine.toml"
    path.write_text(THM1.replace(right, wrong, 1))
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        read_figure(path)
    assert re.search(rf"mine.toml, line ({line}|{line - 1}|{line - 2})\b", str(error.value)), str(error.value)


def test_missing_and_partial_data_are_told(tmp_path: Path) -> None:
    kept = {f"{path.parent.name}/{path.stem}" for path in experiment_files() if published(path).exists()}
    never = next(name for path in experiment_files() if (name := f"{path.parent.name}/{path.stem}") not in kept)
    said = {
        'experiment = "flics/tableJ"': "experiment = 'flics/tableJ' is unknown; did you mean 'flics/tableI.synthetic'?",
        f'experiment = "{never}"': f"experiment = '{never}' has no kept results: allowed is one that was run",
        'experiment = "flics/tableI.synthetic"\nonly = "FedProx*"': "only = 'FedProx*': allowed is a pattern of",
        'experiment = "flics/tableI.synthetic"\nof = "loss"': "no setting has curves of 'loss'",
    }
    for number, (entry, message) in enumerate(said.items()):
        path = tmp_path / f"{number}.toml"
        path.write_text(f'title = "t"\ncaption = "c."\n[figure]\nkind = "curves"\n{entry}\n')
        with pytest.raises(ValueError, match=re.escape(message)) as error:
            draw(path)
        assert str(path) in str(error.value)


def test_worst_cases_stand_where_the_program_answers() -> None:
    """Strongly convex clients, several rounds, squared distances; elsewhere the reason is told."""
    shown = {read_figure(path).name for path in FILES if getattr(read_figure(path).kind, "worst", False)}
    assert shown == {"fast.thm2", "fast.cor3", "safari.thm5", "safari.cor2", "khaled2020.thm1"}


@pytest.mark.parametrize(("name", "why"), [("li2020/figures/thm2", "its rounds are one program"),
                                           ("fast/figures/cor1", "the claim assumes no convexity")])  # fmt: skip
def test_a_worst_case_that_is_not_known_is_told(name: str, why: str, tmp_path: Path) -> None:
    text = (folder() / f"{name}.toml").read_text()
    (tmp_path / "mine.toml").write_text(re.sub(r"\nrounds = .*", "\nrounds = 12\npoints = 3\nworst = true",
                                               re.sub(r"\n(first|points) = .*", "", text)))  # fmt: skip
    with pytest.raises(ValueError, match=f"mine.toml: worst: .*{why}.*allowed is worst = false"):
        draw(tmp_path / "mine.toml")


def test_an_exact_value_that_does_not_exist_is_told(tmp_path: Path) -> None:
    """FedAU's estimated weights remember: exact moments of many rounds do not close."""
    text = (folder() / "fedau" / "figures" / "thm2.toml").read_text().replace("rounds = 12", "rounds = 4000")
    (tmp_path / "thm2.toml").write_text(text)
    with pytest.raises(ValueError, match=r"thm2.toml: exact: fedau.thm2@main: .*allowed is exact = false"):
        draw(tmp_path / "thm2.toml")


def test_the_command_draws_and_goes_on_after_a_failure(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[figure]\nkind = 3\n")
    into = tmp_path / "drawn"
    done = CliRunner().invoke(app, ["run", str(tmp_path / "bad.toml"), str(QUICK), "--figures", str(into),
                                    "--store", str(tmp_path / "runs")])  # fmt: skip
    assert done.exit_code == 1 and "bad.toml: title is missing" in done.output
    assert sorted(path.name for path in into.iterdir()) == ["fedau.inconsistency.csv", "fedau.inconsistency.png"]
    rows = list(csv.DictReader((into / "fedau.inconsistency.csv").read_text().splitlines()))
    assert {row["panel"] for row in rows} == {"1"} and "I = 2" in {row["series"] for row in rows}


@pytest.mark.slow
def test_json_of_a_figure_and_of_an_experiment_is_one_document(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(
        'federation = { kind = "common_hessian", offsets = [1, -1] }\n'
        'algorithm = { kind = "fedavg", local_lr = "1/10" }\nrun = { rounds = 2 }\n'
    )
    options = ["--figures", str(tmp_path / "drawn"), "--store", str(tmp_path / "runs"), "--json"]
    done = CliRunner().invoke(app, ["run", str(tmp_path / "e.toml"), str(QUICK), *options])
    assert done.exit_code == 0 and [Path(each["file"]).name for each in json.loads(done.stdout)] == ["e.toml"]
    assert "fedau.inconsistency.png" in done.stderr
    done = CliRunner().invoke(app, ["run", str(QUICK), *options])
    assert done.exit_code == 0 and json.loads(done.stdout) == []


def test_no_figure_at_all_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[figure]\nkind = 3\n")
    done = CliRunner().invoke(app, ["run", str(tmp_path / "bad.toml"), "--figures", str(tmp_path / "drawn")])
    assert done.exit_code == 2 and "bad.toml: title is missing" in done.stderr


def test_after_the_budget_no_figure_is_drawn(tmp_path: Path) -> None:
    options = ["--figures", str(tmp_path / "drawn"), "--store", str(tmp_path / "runs"), "--budget", "0s"]
    done = CliRunner().invoke(app, ["run", str(QUICK), *options])
    assert done.exit_code == 0 and "1 figures wait" in done.stderr and not (tmp_path / "drawn").exists()


def test_svg_is_the_same_every_time(tmp_path: Path) -> None:
    contents = []
    for name in ("a", "b"):
        draw(QUICK, tmp_path / name, "svg")
        contents.append((tmp_path / name / "fedau.inconsistency.svg").read_bytes())
    assert contents[0] == contents[1] and b"<dc:date>" not in contents[0]
    with pytest.raises(ValueError, match="format = 'pdf': allowed is png or svg"):
        draw(QUICK, tmp_path, "pdf")


def test_bounds_beside_kept_runs_decide_nothing_about_runs() -> None:
    """A condition on quantities of the run is undecided; the average is one that all editions may be read to have."""
    fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    how = ft.algorithms.fast(cohort=1, snapshot_probability="1/2", local_lr="1/50")
    made = ft.Setting(fed, how, ft.participation.Uniform(1), start=3)
    bound = _bound(ft.claim("fast.thm1"), made, np.array([1, 10]))
    assert bound.slack["q_condition"] is None and bound.slack["step_cap"] is not None and bound.value.shape == (2,)
    assert _shared_average([ft.claim("fast.thm1")]) == "r = 1..R"
    assert _shared_average([ft.claim("fast.thm1"), ft.claim("fast.thm1@sharper")]) == "r = 0..R-1"
    entries = {"experiment": "fast/convex.fashion_mnist", "of": "none", "repaired": ["fast.thm2@wide"]}
    with pytest.raises(ValueError, match="of = 'none' was not run"):
        MeasuredBounds.model_validate(entries).drawn()
    with pytest.raises(ValueError, match="about 2 functionals"):
        MeasuredBounds.model_validate(entries | {"printed": ["fast.thm1"]})
