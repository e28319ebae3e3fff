"""Processes of a worked example on this machine: started with a log each, watched by their rounds, ended together."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent


def arguments(description: str | None, clients: int, rounds: int, kill_at: int) -> argparse.Namespace:
    """What an example is asked for: the folder of its state, and numbers."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("state", type=Path)
    parser.add_argument("--clients", type=int, default=clients)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--kill-at", type=int, default=kill_at, help="rounds after which the server is killed")
    parser.add_argument("--seconds", type=float, default=7200.0, help="after which all is given up")
    return parser.parse_args()


class Processes:
    """Processes whose state and logs are in one folder. Leaving the context ends those that still run.

    Args:
        paths: further folders that they import from.
        more: further variables of their environment.
    """

    def __init__(self, state: Path, seconds: float, paths: tuple[Path, ...] = (), **more: str) -> None:
        self.state, self.until, self.seconds = state.absolute(), time.monotonic() + seconds, seconds
        self.state.mkdir(parents=True, exist_ok=True)
        imported = [str(HERE.parents[1]), *map(str, paths), os.environ.get("PYTHONPATH", "")]
        self.environment = os.environ | more | {
            "OMP_NUM_THREADS": "1",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(filter(None, imported)),
        }  # fmt: skip
        self.all: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Processes:
        return self

    def start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        """Start a program of this environment, in a session of its own."""
        with open(self.state / f"{name}.log", "ab") as log:
            one = subprocess.Popen(
                [str(BIN / command[0]), *command[1:]],
                env=self.environment,
                cwd=HERE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.all.append(one)
        return one

    def rounds_done(self) -> int:
        """The rounds that the log has."""
        log = self.state / "log.csv"
        lines = log.read_text().splitlines()[1:] if log.exists() else []
        return len({line.split(",")[0] for line in lines})

    def wait(self, what: str, rounds: int) -> None:
        """Wait until the log has so many rounds."""
        while self.rounds_done() < rounds:
            self.pause(what)

    def pause(self, what: str) -> None:
        """Wait a little, unless it has taken too long."""
        if time.monotonic() > self.until:
            raise SystemExit(f"{what}: {self.rounds_done()} rounds after {self.seconds:.0f} seconds")
        time.sleep(0.2)

    def kill_server(self) -> None:
        """Kill the process that wrote its number beside the state, without a warning."""
        os.kill(int((self.state / "pid").read_text()), signal.SIGKILL)
        print(f"killed the server after {self.rounds_done()} rounds", flush=True)

    def accuracy(self, rounds: int) -> float:
        """The accuracy after so many rounds, once ``accuracy.csv`` has it."""
        while True:
            lines = (self.state / "accuracy.csv").read_text().splitlines(keepends=True)
            found = [line.split(",")[1] for line in lines if line.startswith(f"{rounds},") and line.endswith("\n")]
            if found:
                return float(found[-1])
            self.pause("before the last accuracy")

    def __exit__(self, *error: object) -> None:
        for one in reversed(self.all):
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGTERM)
        for one in self.all:
            try:
                one.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(one.pid, signal.SIGKILL)
