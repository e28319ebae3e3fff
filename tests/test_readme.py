"""The README's example runs as it stands there."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fedtheory.evidence.assess import PUBLISHED

README = Path(__file__).parents[1] / "README.md"


def examples() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


def printed(example: str, folder: Path) -> list[str]:
    done = subprocess.run([sys.executable, "-c", example], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(not README.exists(), reason="the README is not beside the tests")
def test_examples_of_weights_and_selection(tmp_path):
    weights, selection = examples()[2:4]
    exact, sampled = printed(weights, tmp_path)
    assert all(0 < float(number) < 0.01 for number in exact.split())
    assert all(5 < float(number) < 20 for number in sampled.strip("[]").split())
    totals, objective = printed(selection, tmp_path)[0].split("] ")
    assert totals == "[5. 5." and float(objective.split()[0]) == pytest.approx(0.3, rel=1e-15)


@pytest.mark.skipif(not README.exists(), reason="the README is not beside the tests")
def test_example_of_partitions(tmp_path):
    (example,) = (each for each in examples() if "LabelGroups" in each)
    lines = " ".join(printed(example, tmp_path)).replace("[ ", "[").split("] ")
    assert lines[0].startswith("Dirichlet(") and lines[0].split("[")[1].split() == ["89"] * 20  # 1797 // 20
    assert any(line.startswith("LabelsPerClient(") and line.split("[")[1].split() == ["179"] * 10 for line in lines)


@pytest.mark.skipif(not README.exists(), reason="the README is not beside the tests")
def test_example_of_algorithms(tmp_path):
    biased, *others = printed(examples()[1], tmp_path)
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


@pytest.mark.skipif(not README.exists(), reason="the README is not beside the tests")
def test_example_of_networks(tmp_path):
    """With a few random images, and few rounds."""
    (example,) = (each for each in examples() if "small_cnn" in each)
    short = example.replace("ft.data.fashion_mnist()", "toy(600)").replace("rounds=200", "rounds=3")
    assert short.count("toy(600)") == short.count("rounds=3") == 1
    printed(TOY + short, tmp_path)
    assert (tmp_path / "accuracy.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(not README.exists(), reason="the README is not beside the tests")
def test_ten_line_example(tmp_path):
    example = examples()[0]
    assert len([line for line in example.splitlines() if line]) <= 11
    numbers, why = printed(example, tmp_path)
    # 4 zeta/(K R eta) + 90 (L K eta sigma_G)^2 with zeta = 9/2, eta = 1/100, R = 19901.
    assert abs(float(numbers.split()[0]) - (18 * 100 / 19901 + 90e-4)) < 1e-12
    assert "exceeds" in why
    assert (tmp_path / "bound-exact-measured.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(not README.exists(), reason="the README is not beside the tests")
def test_verdicts_of_the_table_are_the_published_ones():
    rows = json.loads((PUBLISHED / "scorecard.json").read_text())["rows"]
    published = {f"{row['id']}@{row['edition']}": row["verdict"] for row in rows}
    told = dict(
        re.findall(r"^\| (\w+\.\S+@\w+) \| (\w[\w ]*) \|", README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    )
    assert len(told) >= 8
    assert told == {ref: published[ref] for ref in told}


@pytest.mark.skipif(not README.exists(), reason="the README is not beside the tests")
def test_example_of_the_kit(tmp_path):
    (example,) = (each for each in examples() if "as_test" in each)
    lines = printed(example, tmp_path)
    assert lines[0].startswith("the weight of round t depends on rounds before t only for the participation [")
    table = lines.index(next(line for line in lines if line.startswith("rule ")))
    assert table - 1 == int(re.search(r"# (\d+) properties", example).group(1))
    assert lines[table + 1].startswith("right ") and lines[-1].startswith("known statistics")
