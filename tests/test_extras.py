"""What is missing names its extra: with imports blocked, for each package that an extra brings."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fedtheory.extras import EXTRAS, MissingExtra, absent, explained, needed

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
DISTRIBUTIONS = {"z3": "z3-solver", "sklearn": "scikit-learn", "PIL": "pillow", "mlflow": "mlflow-skinny"}


@pytest.mark.skipif(not PROJECT.exists(), reason="the project's file is not beside the tests")
def test_the_table_is_the_projects() -> None:
    told = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    brings = {name: {each.split(">=")[0] for each in given} for name, given in told["optional-dependencies"].items()}
    for module, extra in EXTRAS.items():
        assert DISTRIBUTIONS.get(module, module) in brings[extra]
        assert DISTRIBUTIONS.get(module, module) not in {each.split(">=")[0] for each in told["dependencies"]}
    (every,) = brings["all"]
    alone = {"flower", "nvflare"}
    assert set(every.removeprefix("fedtheory[").removesuffix("]").split(",")) == set(EXTRAS.values()) - alone
    page = PROJECT.parent / "docs" / "commands.md"
    assert all(f"| `{name}` |" in page.read_text(encoding="utf-8") for name in {*EXTRAS.values(), "all"})


def test_a_missing_package_is_explained_and_other_errors_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(MissingExtra, match=r"z3 is not installed; it comes with the extra 'search'"):
        needed("z3")
    assert absent("z3") and not absent("numpy")
    other = ModuleNotFoundError("No module named 'nothing'", name="nothing")
    assert explained(other) is other


CORE = [
    "show fast.thm2", "evaluate fedau.thm3 K=5 T=100 cutoff_bias=0",
    "explain needs", "replay fast.thm1@main", "replay fedau.eqB_6_8.b@main", "replay flics.lemma4@main",
    "prove fast.thm2@sharper --recheck", "tables --paper flics", "quantities", "claims --counts",
]  # fmt: skip
"""Commands that need the core alone."""

BEYOND = {
    "experiments": "simulate", "learnability digits": "data", "report": "report",
    "run --all-figures": "report",
}  # fmt: skip
"""Commands that need an extra, and which they name where nothing of any extra is installed."""

BLOCKED = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {tuple(EXTRAS)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
"""
"""A program begins so in an environment that has none of the packages of extras."""


def bare(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCKED + program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


COMMAND = "from fedtheory.cli.statuses import run; sys.exit(run(sys.argv[1:]))"
COMMANDS = """
import contextlib, io, json
from fedtheory.cli.statuses import run
for command in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        status = run(command.split())
    print(json.dumps([command, status, bool(said.getvalue())]))
"""
"""One after another: what is not installed stays so, whichever of them asks for it."""


def test_the_core_needs_no_extra() -> None:
    done = bare(COMMANDS, *CORE)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [[each, 0, True] for each in CORE], done.stderr


@pytest.mark.parametrize(("command", "extra"), BEYOND.items())
def test_what_needs_an_extra_names_it(command: str, extra: str) -> None:
    done = bare(COMMAND, *command.split())
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert f"it comes with the extra '{extra}': pip install 'fedtheory[{extra}]'" in done.stderr


PYTHON = {
    "ft.simulation.simulate": "simulate",
    "ft.Setting(ft.federations.Quadratic.common_hessian([1, -1]), ft.algorithms.fedavg(local_lr=1),"
    " ft.participation.Fixed([0])).simulate()": "simulate",
    "ft.data.load('digits')": "data",
    "ft.plot": "report",
    "ft.testing.participation_arrays": "testing",
    "ft.testing.compare_weight_estimators([], ft.participation.Bernoulli([0.5]))": "simulate",
    "__import__('fedtheory.deploy').deploy.flower": "flower",
    "__import__('fedtheory.deploy').deploy.nvflare": "nvflare",
    "__import__('fedtheory.selection.oracle').selection.oracle.solve_offvar([[4]], [4], [1])": "oracle",
}


@pytest.mark.parametrize(("expression", "extra"), PYTHON.items())
def test_the_same_from_python(expression: str, extra: str) -> None:
    done = bare(f"import fedtheory as ft; {expression}")
    assert f"pip install 'fedtheory[{extra}]'" in done.stderr.splitlines()[-1], done.stderr


def test_proofs_and_settings_load_no_torch_and_proofs_by_the_kernel_no_displays() -> None:
    program = (
        "import sys; from fedtheory.cli.statuses import run; run(['prove', 'fast.thm2@sharper']);"
        "displays = [name for name in sys.modules if '.displays.' in name and not name.endswith('.symbols')];"
        "run(['prove', 'fast.thm2@sharper', '--recheck']); run(['replay', 'fast.cor3@main']);"
        "print([*displays, *(name for name in ('torch', 'numba') if name in sys.modules)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
