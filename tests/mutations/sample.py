"""Draws changes over the whole package, and tries each against the quick tests.

    python -m tests.mutations.covered map.json -m 'not slow and not exhaustive'
    python -m tests.mutations.sample map.json kept.json --count 100 --seed 0
    python -m tests.mutations.sample map.json kept.json --count 100 --seed 0 --whole
    python -m tests.mutations.sample map.json kept.json --count 100 --seed 0 --table docs/mutations-sample.md

A module is drawn with a chance like its lines of code, and a change of it evenly. Each is tried in a copy, on its own:
first against the tests that run the changed lines (by the map, the quickest first, for so many seconds together),
or, where no function is changed, against those whose files are near; with ``--whole``, what lives is then tried against
all quick tests. A change is caught only if a test fails, cannot be collected, or takes six times as long as without it,
and passes in the same copy without the change. What was tried is kept at once: the same command goes on where it was
ended.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.mutations import running
from tests.mutations.__main__ import _import_libraries
from tests.mutations.operators import mutant, names
from tests.mutations.table import ANY, EQUIVALENT

ROOT = Path(__file__).resolve().parents[2]
QUICK = ("-m", "not slow and not exhaustive")


def drawn(root: Path, count: int, seed: int) -> list[dict[str, Any]]:
    """So many changes, all different; more of one seed begin with fewer of it."""
    sources = {str(p.relative_to(root)): p.read_text() for p in sorted((root / "fedtheory").rglob("*.py"))}
    lines = [sum(bool(line.strip()) for line in source.splitlines()) for source in sources.values()]
    rng, known = random.Random(seed), dict[str, list[tuple[str, str]]]()
    found: dict[tuple[str, int], dict[str, Any]] = {}
    while len(found) < count:
        (module,) = rng.choices(list(sources), lines)
        known[module] = known.get(module) or list(names(sources[module]))
        if known[module]:
            number = rng.randrange(len(known[module]))
            text, change = known[module][number]
            made = {"module": module, "number": number, "text": text, "change": change, "result": "", "by": ""}
            found.setdefault((module, number), made)
    return list(found.values())


class Tests:
    """The quick tests, by what they run and how long they take.

    Attributes:
        seconds: of each that passes without a change.
        sound: those that passed in the copy, too, without a change.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        self.all = [test for test, *_ in content["tests"]]
        self.seconds = {test: seconds for test, seconds, passed in content["tests"] if passed}
        self.blocks, self.sound = content["blocks"], set[str]()

    def running(self, module: str, line: int) -> list[str]:
        """Those that run the innermost block of a line; of a line outside of blocks, any of the module."""
        of_module = [block for block in self.blocks if block[0] == module]
        around = [block for block in of_module if block[1] <= line <= block[2]]
        chosen = [min(around, key=lambda block: block[2] - block[1])] if around else of_module
        return self._quickest({self.all[i] for block in chosen for i in block[3]})

    def near(self, module: str) -> list[str]:
        """Those whose file says most of the module's names; the quickest first among equals."""
        words = [word for word in re.split(r"[/_.]", module.removeprefix("fedtheory/")) if len(word) > 2]
        score = {test: sum(word in test for word in words) for test in self.seconds}
        return sorted((t for t in score if score[t]), key=lambda test: (-score[test], self.seconds[test]))

    def _quickest(self, tests: set[str]) -> list[str]:
        return sorted(tests & self.seconds.keys(), key=lambda test: (self.seconds[test], test))

    def within(self, tests: Sequence[str], limit: float) -> list[str]:
        """The first, which take so many seconds together, and one at least."""
        taken, total = [], 0.0
        for test in dict.fromkeys(tests):
            total += self.seconds[test] + 0.05
            if taken and total > limit:
                break
            taken.append(test)
        return taken


class Told(running.Quick):
    """Runs tests in the given order, and writes which failed first."""

    def __init__(self, order: Sequence[str], seconds: dict[str, float], written: Path) -> None:
        super().__init__(seconds)
        self.order, self.written, self.now = {test: i for i, test in enumerate(order)}, written, ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.order:
            items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])
        else:
            items[:] = sorted((i for i in items if i.nodeid in self.seconds), key=lambda i: self.seconds[i.nodeid])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        self.written.write_text(f"{item.nodeid} (ends the process, or takes too long)")
        super().pytest_runtest_protocol(item)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        super().pytest_runtest_logreport(report)
        if report.failed:
            self.written.write_text(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.written.write_text(f"{report.nodeid} (not collected)")


def tried(copy: Path, order: Sequence[str], whole: bool, tests: Tests) -> str:
    """The test that fails, or nothing, of those in the order, or of all quick ones."""
    written = copy / ".told"
    written.write_text("")
    plugin = Told([] if whole else order, tests.seconds, written)
    paths = [] if whole else sorted({test.split("::")[0] for test in order})
    status = running.run(copy, [*QUICK, *paths], plugin)
    if status == 0 or status == 5:  # passed; none was there
        return ""
    return written.read_text() or f"the run (status {status})"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations.sample", description=__doc__.splitlines()[0])
    parser.add_argument("map", type=Path, help="what tests.mutations.covered wrote")
    parser.add_argument("kept", type=Path, help="what was tried; it is read first, and written after each change")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0, help="of the likely tests of one change")
    parser.add_argument("--whole", action="store_true", help="try what lived against all quick tests")
    parser.add_argument("--table", type=Path, help="write the list there, and try nothing more")
    options = parser.parse_args(arguments)
    before = {(e["module"], e["number"], e["text"], e["change"]): e
              for e in (json.loads(options.kept.read_text()) if options.kept.exists() else [])}  # fmt: skip
    sample = drawn(ROOT, options.count, options.seed)
    sample = [before.get((e["module"], e["number"], e["text"], e["change"]), e) for e in sample]
    if options.table:
        options.table.write_text(table(sample, options.seed), encoding="utf-8")
        return 0
    tests = Tests(json.loads(options.map.read_text()))
    _import_libraries()
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copy = Path(folder) / "it"
        _copied(copy)
        for each in sample:
            if each["result"] in ("caught", "lived all") or (each["result"] == "lived" and not options.whole):
                continue
            _one(each, copy, tests, options)
            options.kept.write_text(json.dumps(sample, indent=1))
            print(
                f"{each['module']}:{each['line']}: {each['change'][:100]}  [{each['result']}] {each['by']}", flush=True
            )
    return 0


def _copied(copy: Path) -> None:
    """All but what git, environments and builds keep; compiled modules and loops stay, which take long to make."""
    copy.mkdir()
    for part in ROOT.iterdir():
        if part.is_dir() and part.name not in (".git", ".venv", ".hypothesis", "build", "data", "report"):
            shutil.copytree(part, copy / part.name)
        elif part.is_file() and part.name != ".git":
            shutil.copy2(part, copy / part.name)


def _one(each: dict[str, Any], copy: Path, tests: Tests, options: argparse.Namespace) -> None:
    path, original = copy / each["module"], (ROOT / each["module"]).read_text()
    made = mutant(original, each["number"])
    each["line"] = made.line
    path.write_text(made.source)
    for cached in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        cached.unlink()
    whole = each["result"] == "lived"
    try:
        order = [*tests.running(each["module"], made.line), *([] if made.inside else tests.near(each["module"]))]
        order = tests.within(order or tests.near(each["module"]), options.seconds)
        each["by"] = tried(copy, order, whole, tests) if order or whole else ""
    finally:
        shutil.copy2(ROOT / each["module"], path)
    by = each["by"].partition(" (")[0]
    if by in tests.seconds and by not in tests.sound:
        if tried(copy, [by], False, tests):  # it fails unchanged, here
            del tests.seconds[by]
            return _one(each, copy, tests, options)
        tests.sound.add(by)
    each["result"] = "caught" if each["by"] else "lived all" if whole else "lived"


def table(sample: Sequence[dict[str, Any]], seed: int) -> str:
    """The list, as a page."""

    def why(each: dict[str, Any]) -> str | None:
        known = EQUIVALENT.get(each["module"].removeprefix("fedtheory/"), {})
        return known.get((each["text"], each["change"])) or known.get((each["text"], ANY))

    count = {
        result: sum(each["result"] == result for each in sample) for result in ("caught", "lived", "lived all", "")
    }
    head = [
        "# A sample of changes, against the quick tests", "",
        f"{len(sample)} changes of seed {seed}, drawn over all packages by lines (`python -m tests.mutations.sample`),",
        f"each tried on its own. Of these, a quick test caught {count['caught']}; {count['lived']} lived the likely",
        f"tests, and were not tried against all; {count['lived all']} lived all; not tried {count['']}.", "",
        "| module | line | change | caught by |", "| --- | --- | --- | --- |",
    ]  # fmt: skip
    for each in sample:
        module, change = each["module"].removeprefix("fedtheory/"), _short(each["change"])
        head.append(f"| `{module}` | {each.get('line', '')} | `{change}` | {_outcome(each, why(each))} |")
    return "\n".join([*head, ""])


def _short(change: str) -> str:
    change = " ".join(change.split()).replace("|", "\\|").replace("`", "'")
    return change if len(change) < 140 else change[:137] + "..."


def _outcome(each: dict[str, Any], why: str | None) -> str:
    if each["result"] == "caught":
        return "`" + each["by"].replace("|", "\\|").replace("`", "'")[:160] + "`"
    return {"": "not tried", "lived": "lived the likely tests", "lived all": "**lived**"}[each["result"]] + (
        f"; equivalent: {why}" if why else "")  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
