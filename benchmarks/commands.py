"""What commands take: CPU time with their children, time by the clock and until their first words, in units.

    OMP_NUM_THREADS=1 python benchmarks/commands.py                      # the quick ones, a minute or two
    python benchmarks/commands.py --only 'prove *' --rounds 5
    python benchmarks/commands.py --all --rounds 1                       # with those that take minutes or hours
    python benchmarks/commands.py --keep benchmarks/kept/commands.json   # with the machine described

The unit is ``unit.py``'s, measured in the same run, once a round; the commands take turns. Each number is the least of
all rounds: what else the machine does only adds to it. The first round is not counted (it fills caches and compiles
Python files). A command's standard error is a terminal, so that its first words are those that a user sees: a bar, or
what it found. Rows whose first words alone have a target are ended when these have come.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fnmatch
import os
import pty
import re
import select
import shlex
import signal
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from unit import unit

from fedtheory.files import json_text, write_beside
from fedtheory.printing import Progress
from fedtheory.provenance import machine

ROOT = Path(__file__).parent.parent

PR_SET_CHILD_SUBREAPER = 36
"""Of Linux's ``prctl``: orphans below this process become its children."""


@dataclass(frozen=True)
class Row:
    """A command with its targets, all in units; ``None`` where there is none.

    Attributes:
        command: its line. ``fedtheory`` is this Python's; ``NEW`` is a folder that nobody has used, ``INPUT`` the one
            with the inputs that ``inputs`` writes.
        cpu: CPU time, children included.
        wall: time by the clock, on idle cores.
        news: time by the clock until its first words.
        status: how it ends.
        slow: whether it is left out without ``--all``.
    """

    command: str
    cpu: float | None = None
    wall: float | None = None
    news: float | None = None
    status: int = 0
    slow: bool = False

    @property
    def only_news(self) -> bool:
        """Whether it is ended after its first words."""
        return self.news is not None and self.cpu is None and self.wall is None and not self.slow


OFFVAR = "--budget INPUT/budget.csv --weights INPUT/weights.csv"
LONG = "--budget INPUT/long_budget.csv --weights INPUT/weights.csv"
ROWS = (
    Row("fedtheory --help", 1),
    Row("fedtheory verify --help", 1),
    Row("fedtheory claims", 1),
    Row("fedtheory algorithms", 1),
    Row("fedtheory show fast.thm2", 1),
    Row("fedtheory show fast.cor3", 1),
    Row("fedtheory show fast.cor3 --json", 1),
    Row("fedtheory evaluate fedau.thm3 K=5 T=100 cutoff_bias=0", 1),
    Row("fedtheory evaluate fast.lemma1 L=1 displacement=1/2", 1),
    Row("fedtheory tables --paper flics", 1),
    Row(f"fedtheory offvar INPUT/availability.csv {OFFVAR}", 1),
    Row(f"fedtheory select INPUT/availability.csv {OFFVAR}", 1),
    Row("fedtheory prove fast.thm2@sharper", 2),
    Row("fedtheory prove fast.thm1", 2, status=1),
    Row("fedtheory prove safari.thm4@sharper", 2),
    Row("fedtheory prove fedau.thm2@corrected", 2),
    Row("fedtheory prove flics.thm1@corrected", 2),
    Row("fedtheory prove fast.thm2@sharper --recheck", 2),
    Row("fedtheory replay fast.thm1@main", 2),
    Row("fedtheory replay fast.cor3@main", 2),
    Row("fedtheory replay safari.thm4@main", 2),
    Row("fedtheory replay fedau.eqB_6_8.b@main", 2),
    Row("fedtheory replay flics.lemma4@main", 2),
    Row("fedtheory referee docs/referee/my_theorem.py", news=2),
    Row(f"fedtheory offvar INPUT/long.csv {LONG} --plan NEW/plan.csv", 3, 3),
    Row(f"fedtheory select INPUT/long.csv {LONG} --plan NEW/plan.csv", 3, 3),
    Row("fedtheory verify --report NEW/report --figures NEW/figures", wall=60, news=3, slow=True),
    Row("fedtheory verify --search --report NEW/report --figures NEW/figures", news=3, slow=True),
    Row("make test", wall=240, slow=True),
)  # fmt: skip
"""The commands that have targets. The long files have 10^6 rounds of 10 groups, so that a plan has 10^7 numbers."""

SHOWN = re.compile(r"(?:\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9])|\s)*")
"""What moves a terminal's cursor, colours and blanks: no words yet."""


def inputs(folder: Path, long: int = 10**6) -> None:
    """Write traces of availability: one of 3 rounds and one of so many."""
    rng = np.random.default_rng(0)
    names = [f"g{k}" for k in range(10)]
    (folder / "weights.csv").write_text("group,weight\n" + "".join(f"{name},0.1\n" for name in names))
    for name, budget, rounds in (("availability", "budget", 3), ("long", "long_budget", long)):
        counts = rng.integers(0, 10, (rounds, len(names)))
        lines = [",".join(names), *(",".join(map(str, line)) for line in counts.tolist())]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
        (folder / f"{budget}.csv").write_text("budget\n" + "5\n" * rounds)


def words(row: Row, places: dict[str, Path]) -> list[str]:
    """Split a row's line into the words of a command of this Python."""
    line = re.sub(r"\b(NEW|INPUT)\b", lambda found: str(places[found[0]]), row.command)
    first, *rest = shlex.split(line)
    return [sys.executable, "-m", first, *rest] if first == "fedtheory" else [first, *rest]


def environment() -> dict[str, str]:
    """The environment of a user: one thread, compiled Python files are kept."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    path = os.pathsep.join(filter(None, (str(ROOT), kept.get("PYTHONPATH"))))
    return kept | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path, "TERM": "xterm", "COLUMNS": "120"}


def measured(command: list[str], only_news: bool = False, folder: Path = ROOT) -> dict[str, Any]:
    """Run a command: the seconds of ``cpu`` of it and its children, ``wall``, ``news``, its ``status`` and last words.

    It leads a group of processes, which is ended as a whole after the first words where ``only_news`` is asked for.
    Children that it leaves behind, such as a server of workers, which ends after it, become children of this process,
    which waits for them: their time counts.
    """
    adopting(True)
    out, into = os.pipe()
    seen, terminal = pty.openpty()
    begun = time.monotonic()
    child = os.posix_spawnp(
        command[0], command, environment(), setpgroup=0,
        file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, into, 1),
                      (os.POSIX_SPAWN_DUP2, terminal, 2)],
    )  # fmt: skip
    os.close(into), os.close(terminal)
    said, told, news, ended = {out: b"", seen: b""}, {out, seen}, None, False
    while told:
        for stream in select.select([*told], [], [])[0]:
            try:
                part = os.read(stream, 1 << 16)
            except OSError:  # the other end of the terminal is closed
                part = b""
            if not part:
                told.remove(stream)
            said[stream] = (said[stream] + part)[-2000:]
            if news is None and SHOWN.sub("", part.decode(errors="replace")):
                news = time.monotonic() - begun
        if only_news and news is not None and not ended:
            os.killpg(child, signal.SIGTERM)
            ended = True
    _, status, used = os.wait4(child, 0)
    wall, cpu = time.monotonic() - begun, used.ru_utime + used.ru_stime
    with contextlib.suppress(ChildProcessError):
        while True:
            used = os.wait4(-child, 0)[2]
            cpu += used.ru_utime + used.ru_stime
    adopting(False)
    os.close(out), os.close(seen)
    last = said[seen].decode(errors="replace").strip().splitlines()
    return {
        "cpu": cpu, "wall": wall, "news": wall if news is None else news,
        "status": os.waitstatus_to_exitcode(status), "said": last[-1] if last else "",
    }  # fmt: skip


def adopting(on: bool) -> None:
    """Have processes below this one become its children when their parents have ended, or not."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0)


def table(rows: list[Row], rounds: int) -> dict[str, Any]:
    """Measure the rows in turns: the unit in seconds, and for each row what it took in units and whether it held."""
    units, found = [], {row: list[dict[str, Any]]() for row in rows}
    with tempfile.TemporaryDirectory() as place, Progress() as progress:
        given = Path(place) / "input"
        given.mkdir()
        inputs(given, 10**6 if any("long" in row.command for row in rows) else 3)
        warm = [row for row in rows if not row.slow]
        for turn in range(rounds + 1):
            units.append(unit(1))
            for number, row in enumerate(rows if turn else warm):
                progress("commands", max(turn - 1, 0) * len(rows) + number * bool(turn), rounds * len(rows))
                new = Path(place) / f"{turn}-{number}"
                new.mkdir()
                one = measured(words(row, {"NEW": new, "INPUT": given}), row.only_news)
                if turn:
                    found[row].append(one)
    one_unit = min(units)
    return {"unit": one_unit, "rounds": rounds, "rows": [judged(row, found[row], one_unit) for row in rows]}


def judged(row: Row, found: list[dict[str, Any]], one_unit: float) -> dict[str, Any]:
    """A row with the least that it took, in units, and whether every target held and it ended as it should."""
    least = {name: min(one[name] for one in found) / one_unit for name in ("cpu", "wall", "news")}
    targets = {name: getattr(row, name) for name in ("cpu", "wall", "news") if getattr(row, name) is not None}
    wrong = [] if row.only_news else [one for one in found if one["status"] != row.status]
    held = all(least[name] <= target for name, target in targets.items()) and not wrong
    failed = f"status {wrong[0]['status']}: {wrong[0]['said']}" if wrong else ""
    content = asdict(row) | {"took": least, "targets": targets, "failed": failed}
    return content | {"held": held if targets or wrong else None}


def text(content: dict[str, Any]) -> str:
    """The table as lines."""
    lines = [f"{'CPU':>7} {'wall':>7} {'first':>7}  {'target':18} held  command"]
    for row in content["rows"]:
        took, targets = row["took"], ", ".join(f"{name} {target:g}" for name, target in row["targets"].items())
        held = {True: "yes", False: "NO", None: "-"}[row["held"]]
        numbers = " ".join(f"{took[name]:7.2f}" for name in ("cpu", "wall", "news"))
        lines.append(f"{numbers}  {targets or '-':18} {held:4}  {row['command']}  {row['failed']}".rstrip())
    return "\n".join([*lines, f"in units of {content['unit']:.3f} s; {content['rounds']} rounds, the least of each"])


def main() -> int:
    """Print the table; 1 where a target was not held."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="with the commands that take minutes or hours")
    parser.add_argument("--only", default="*", help="commands of this pattern, without the word fedtheory")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="write the table here, as JSON")
    asked = parser.parse_args()
    rows = [row for row in ROWS if (asked.all or not row.slow) and
            fnmatch.fnmatchcase(row.command.removeprefix("fedtheory "), asked.only)]  # fmt: skip
    if not rows:
        parser.error(f"--only {asked.only}: no command is of this pattern")
    content = table(rows, asked.rounds)
    print(text(content))
    if asked.keep:
        load = f"{os.getloadavg()[2]:.2f} in 15 minutes"
        described = machine("cpu", 1) | {"cores": str(os.cpu_count()), "load": load}
        write_beside(asked.keep, (json_text({"machine": described} | content, indent=1) + "\n").encode())
    return 1 if any(row["held"] is False for row in content["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
