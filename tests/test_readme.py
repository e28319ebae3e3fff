"""What README.md and the pages of examples say: examples that run, short sentences, verdicts that are published."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fedtheory.evidence.assess import PUBLISHED
from fedtheory.evidence.counts import VERDICTS
from fedtheory.evidence.verdict_words import MEANINGS

ROOT = Path(__file__).parents[1]
README, DOCS = ROOT / "README.md", ROOT / "docs"

pytestmark = pytest.mark.skipif(not README.exists(), reason="the README is not beside the tests")


def examples(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def example(page: Path, word: str) -> str:
    (found,) = (each for each in examples(page) if word in each)
    return found


def printed(example: str, folder: Path) -> list[str]:
    done = subprocess.run([sys.executable, "-c", example], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_there_are_three_examples_of_ten_lines():
    found = examples(README)
    assert len(found) == 3
    assert all(len([line for line in each.splitlines() if line]) <= 10 for each in found)


def test_a_theorem_is_verified(tmp_path):
    proof, instance = printed(example(README, "prove("), tmp_path)
    assert proof == "proved by the kernel" and instance == "True under 32 readings"


def test_a_bound_is_drawn(tmp_path):
    (numbers,) = printed(example(README, "ft.plot"), tmp_path)
    # 4 zeta/(K R eta) + 90 (L K eta sigma_G)^2 with zeta = 9/2, eta = 1/100, R = 19901.
    assert abs(float(numbers.split()[0]) - (18 * 100 / 19901 + 90e-4)) < 1e-12
    assert (tmp_path / "bound-exact-measured.png").read_bytes().startswith(b"\x89PNG")


def test_a_weight_estimator_is_tested_and_a_wrong_one_is_refused(tmp_path):
    given = example(README, "check_weight_estimator")
    assert any(line.startswith("no look-ahead") for line in printed(given, tmp_path))
    with pytest.raises(AssertionError, match="LookAheadError"):  # it counts the round itself
        printed(given.replace(" - history", ""), tmp_path)


def test_example_of_a_log(tmp_path):
    lines = printed(example(DOCS / "examples.md", "read_log"), tmp_path)
    assert lines[:3] == [
        "3 clients, 3 of whom came, in 3 intervals of 0 to 20 (numbers)",
        "1: rows that stand there twice (first: line 3)",
        "1: intervals without an end: counted until the log ends (first: line 4)",
    ]
    # Rounds of a; a, b; b, c; b, c; here x -> .9 x + .1 times the mean of their minimisers 1, -1, 0.
    x, errors = 3.0, {}
    for r, drawn in enumerate([1, 0, -0.5, -0.5] * 100, 1):
        x = 0.9 * x + 0.1 * drawn
        errors[r] = x**2
    assert [float(e) for e in lines[3].strip("[]").split()] == pytest.approx([errors[4], errors[40], errors[400]])


def test_examples_of_weights_and_selection(tmp_path):
    exact, sampled = printed(example(DOCS / "examples.md", "weight_moments"), tmp_path)
    assert all(0 < float(number) < 0.01 for number in exact.split())
    assert all(5 < float(number) < 20 for number in sampled.strip("[]").split())
    totals, objective = printed(example(DOCS / "examples.md", "offvar"), tmp_path)[0].split("] ")
    assert totals == "[5. 5." and float(objective.split()[0]) == pytest.approx(0.3, rel=1e-15)


def test_example_of_partitions(tmp_path):
    lines = printed(example(DOCS / "examples.md", "LabelGroups"), tmp_path)
    lines = " ".join(lines).replace("[ ", "[").split("] ")
    assert lines[0].startswith("Dirichlet(") and lines[0].split("[")[1].split() == ["89"] * 20  # 1797 // 20
    assert any(line.startswith("LabelsPerClient(") and line.split("[")[1].split() == ["179"] * 10 for line in lines)


def test_example_of_algorithms(tmp_path):
    biased, *others = printed(example(DOCS / "examples.md", "mifa"), tmp_path)
    # Participants at 1 or -1 or both: the mean settles at (0.01 - 0.81) / 0.91 = -80/91.
    assert float(biased.split("[")[1].rstrip("]")) == pytest.approx(-80 / 91, rel=1e-8)
    assert {line.split()[0]: float(line.split()[1]) < 0.3 for line in others} == {
        "Known": True, "MIFA": True, "FedAUWeights": True,
    }  # fmt: skip


TOY = """
import matplotlib
matplotlib.use("agg")
import numpy as np
from fedtheory.data import Dataset
def toy(points):
    rng = np.random.default_rng(points)
    images = rng.integers(0, 256, (points, 1, 28, 28), dtype=np.uint8)
    return Dataset("toy", images, np.arange(points) % 10, 10, test=toy(100) if points > 100 else None)
"""


def test_example_of_networks(tmp_path):
    """With a few random images, and few rounds."""
    given = example(DOCS / "examples.md", "small_cnn")
    short = given.replace("ft.data.fashion_mnist()", "toy(600)").replace("rounds=200", "rounds=3")
    assert short.count("toy(600)") == short.count("rounds=3") == 1
    printed(TOY + short, tmp_path)
    assert (tmp_path / "accuracy.png").read_bytes().startswith(b"\x89PNG")


def test_verdicts_and_numbers_of_the_table_are_the_published_ones():
    """The largest left over right, with three digits; steps of a proof, what it fails by, and its readings."""
    rows = json.loads((PUBLISHED / "scorecard.json").read_text())["rows"]
    published = {f"{row['id']}@{row['edition']}": row for row in rows}
    page = (DOCS / "theorems.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| (\w+\.\S+@[^|]*) \| ([^|]*) \| ([^|]*) \| (.*) \|$", page, flags=re.MULTILINE)
    assert len(told) >= 20
    for refs, verdict, ratio, why in told:
        for ref in refs.split(", "):
            found = published[ref]["evidence"]
            search, instance = found["exact"]["search"], found["exact"]["instance"]
            assert verdict == published[ref]["verdict"], ref
            if search:
                late = f" at the first round, {search['largest_late_ratio']:.3g} later"
                allowed = ("", late) if search["largest_ratio_rounds"] == 1 else ("",)
                assert ratio in {f"{search['largest_ratio']:.3g}{each} (search)" for each in allowed}, ref
            else:
                assert ratio == f"{instance['ratio']:.3g} (instance)", ref
            assert all(int(n) == found["proof"]["steps"] for n in re.findall(r"(\d+) steps", why)), ref
            assert all(int(n) == instance["readings"] for n in re.findall(r"all (\d+) readings", why)), ref
            for times in re.findall(r"([\d.]+) and ([\d.]+) times exceeded", why):
                assert times == tuple(f"{need['ratio']:.2g}" for need in found["needs"]), ref


def test_every_verdict_has_a_meaning_and_the_readme_tells_it():
    assert set(MEANINGS) == set(VERDICTS)
    told = dict(re.findall(r"^- \*\*([a-z ]+)\*\*: (.*)$", README.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert told and told == {word: MEANINGS[word] for word in told}
    rule = (DOCS / "scorecard.md").read_text(encoding="utf-8").partition("## Verdicts")[2].partition("\n## ")[0]
    words = {word.removesuffix(" NAME") for word in re.findall(r"^\| `([a-z A-Z]+)` \|", rule, flags=re.MULTILINE)}
    assert words == set(VERDICTS)


def sentences(text: str) -> list[str]:
    """The sentences of a page, without its code, tables, headings and what only links say; a formula is a word."""
    text = re.sub(r"```.*?```", ".", text, flags=re.DOTALL)
    text = re.sub(r"(?m)^\|.*$", "", text)
    text = re.sub(r"\$[^$]*\$", "formula", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "code", text)
    blocks = re.split(r"\n\s*\n|\n(?=- )|\n(?=\d+\. )|\n(?=#)", text)
    prose = [
        re.sub(r"^[-#>*\s]+", "", " ".join(block.split())) for block in blocks if not block.lstrip().startswith("#")
    ]
    found = [each for block in prose for each in re.split(r"(?<=[.!?:])\*?\s+", block)]
    return [each for each in found if re.search(r"[A-Za-z]", each)]


def test_sentences_are_found():
    assert sentences("| a | b |\n\n1. $a b$ one.\n2. Two.\n") == ["formula one.", "Two."]
    assert sentences("# Head\n\nOne two. `a b c` is [it](x.y).\n\n- three: four\n") == [
        "One two.", "code is it.", "three:", "four",
    ]  # fmt: skip


BESIDE = ("adding-claims", "cluster", "real-clients", "referee", "testing", "diagnose", "experiment-files", "commands",
          "examples", "stability", "kernel", "scorecard", "worst-case", "theorems", "design")  # fmt: skip
SHORT = [README, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(DOCS.glob("tutorials/*.md")),
         *sorted(DOCS.glob("howto/*.md")), *(DOCS / f"{name}.md" for name in BESIDE)]  # fmt: skip
"""Pages that a reader begins with: tutorials, how-to pages, and those beside the README."""


@pytest.mark.parametrize("page", SHORT, ids=lambda page: page.stem)
def test_sentences_are_short(page):
    """Twenty words on average, and forty-five at most; forty in the README."""
    words = [len(each.split()) for each in sentences(page.read_text(encoding="utf-8"))]
    assert len(words) > 8
    assert max(words) <= (40 if page == README else 45) and sum(words) / len(words) <= 20


def test_how_to_pages_are_all_held_to_it():
    """What the table of contents calls tutorials and how-to pages."""
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = [
        name
        for caption in ("Tutorials", "How-to")
        for name in text.partition(f":caption: {caption}\n")[2].partition("```")[0].split("\n\n", 1)[1].split()
    ]
    assert len(listed) >= 15 and {DOCS / f"{name}.md" for name in listed} <= {*SHORT}


def test_the_readme_is_two_screens():
    """Of prose, examples and lists: 120 lines of at most 120 characters."""
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120 and max(map(len, lines)) <= 125


LINKED = [*SHORT, DOCS / "theorems.md", *sorted(DOCS.glob("findings/*.md"))]


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith("http")]
    assert all((page.parent / link).exists() for link in links if link)


def test_example_of_the_kit(tmp_path):
    given = example(DOCS / "examples.md", "as_test")
    lines = printed(given, tmp_path)
    assert lines[0].startswith("the weight of round t depends on rounds before t only for the participation [")
    table = lines.index(next(line for line in lines if line.startswith("rule ")))
    assert table - 1 == int(re.search(r"# (\d+) properties", given).group(1))
    assert lines[table + 1].startswith("right ") and lines[-1].startswith("known statistics")
