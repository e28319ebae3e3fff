"""FedAvg of pfl-research and of fluke on the cases of ``training.py``, in an environment of their own.

``python benchmarks/peers/run.py --environment FOLDER`` makes the environment if it is not there and installs both with
pip; what cannot be installed or does not run is skipped, with the reason. A round has as many clients, steps and
samples as in ``training.py``; which clients and batches are drawn is the peer's own affair.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = {"pfl": "pfl", "fluke": "fluke-fl"}
TIMEOUT = 1800  # seconds for one command


def installed(environment: Path, peer: str) -> str | None:
    """Why a peer cannot be used; None where it can."""
    python = environment / "bin" / "python"
    try:
        if not python.exists():
            venv.create(environment, with_pip=True)
        if subprocess.run([python, "-c", f"import {peer}"], capture_output=True, timeout=TIMEOUT).returncode == 0:
            return None
        command = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", PACKAGES[peer]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    except (OSError, subprocess.SubprocessError) as error:
        return f"cannot be installed: {error}"
    return None if done.returncode == 0 else f"cannot be installed: {last_line(done.stderr)}"


def measured(environment: Path, peer: str, case: str, rounds: int) -> dict | str:
    """Its figures, or why there are none."""
    path = os.pathsep.join(map(str, (HERE.parent.parent, HERE.parent)))
    command = [environment / "bin" / "python", HERE / f"with_{peer}.py", case, str(rounds)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT, env={**os.environ, "PYTHONPATH": path}
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"does not run: {error}"
    return json.loads(last_line(done.stdout)) if done.returncode == 0 else f"does not run: {last_line(done.stderr)}"


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1][:300]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("cases", nargs="*", default=["logistic-32", "small-cnn-32"])
    parser.add_argument("--environment", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args(arguments)
    for peer in PACKAGES:
        reason = installed(options.environment.resolve(), peer)
        for case in options.cases:
            found = reason or measured(options.environment.resolve(), peer, case, options.rounds)
            print(
                f"{peer} {case}: " + (f"skipped, {found}" if isinstance(found, str) else json.dumps(found)), flush=True
            )


if __name__ == "__main__":
    main(sys.argv[1:])
