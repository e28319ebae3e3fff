"""Start Flower's processes on this machine, run the digits, kill the server once, and start it again.

    python docs/real_clients/run.py state --kill-at 12

One SuperLink, and a SuperNode for each client. The server app is killed (SIGKILL) as soon as the log has the round that
``--kill-at`` says; then the app is run once more, and goes on where its state ends. Prints the last accuracy.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent


def free_port() -> int:
    """A port of this machine that nobody uses."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def rounds_done(state: Path) -> int:
    """The rounds that the log has."""
    log = state / "log.csv"
    lines = log.read_text().splitlines()[1:] if log.exists() else []
    return len({line.split(",")[0] for line in lines})


def main() -> None:
    """Run until the server app says that it is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state", type=Path)
    parser.add_argument("--kill-at", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=7200.0, help="after which all is given up")
    given = parser.parse_args()
    state = given.state.absolute()
    state.mkdir(parents=True, exist_ok=True)
    app, home = state / "app", state / "home"
    shutil.copytree(HERE, app, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "run.py"))
    home.mkdir(exist_ok=True)
    port, until = free_port(), time.monotonic() + given.seconds
    (home / "config.toml").write_text(
        f'[superlink]\ndefault = "here"\n[superlink.here]\naddress = "127.0.0.1:{port}"\ninsecure = true\n'
    )
    root = str(HERE.parents[1])
    environment = os.environ | {
        "FLWR_HOME": str(home), "FLWR_TELEMETRY_ENABLED": "0", "OMP_NUM_THREADS": "1",
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, [root, str(app), os.environ.get("PYTHONPATH")])),
    }  # fmt: skip
    processes: list[subprocess.Popen[bytes]] = []

    def started(name: str, *command: str) -> subprocess.Popen[bytes]:
        with open(state / f"{name}.log", "ab") as log:
            one = subprocess.Popen(
                [str(BIN / command[0]), *command[1:]], env=environment, stdout=log, stderr=log, start_new_session=True
            )
        processes.append(one)
        return one

    def run() -> None:
        config = f'state="{state}" rounds={given.rounds} nodes={given.clients}'
        if started("run", "flwr", "run", str(app), "here", "--run-config", config).wait(timeout=120):
            raise SystemExit(f"the app did not start: see {state / 'run.log'}")

    def wait(what: str, done: int) -> None:
        while rounds_done(state) < done:
            if time.monotonic() > until:
                raise SystemExit(f"{what}: {rounds_done(state)} of {done} rounds after {given.seconds:.0f} seconds")
            time.sleep(0.2)

    try:
        started("superlink", "flower-superlink", "--insecure", "--port", str(port),
                "--disable-runtime-dependency-installation")  # fmt: skip
        while socket.socket().connect_ex(("127.0.0.1", port)):
            time.sleep(0.2)
        for i in range(given.clients):
            node = f'client={i} trace="{HERE / "trace.csv"}"'
            command = (
                "--insecure",
                "--superlink",
                f"127.0.0.1:{port}",
                "--node-config",
                node,
                "--port",
                str(free_port()),
            )
            started(f"node-{i}", "flower-supernode", *command)
        run()
        wait("before the server is killed", given.kill_at)
        os.kill(int((state / "pid").read_text()), signal.SIGKILL)
        print(f"killed the server after {rounds_done(state)} rounds", flush=True)
        run()
        wait("after the server was started again", given.rounds)
        print((state / "accuracy.csv").read_text().splitlines()[-1])
    finally:
        for one in reversed(processes):
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGTERM)
        for one in processes:
            try:
                one.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(one.pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
