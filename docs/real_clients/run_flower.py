"""Start Flower's processes on this machine, run FedAU on the digits, kill the server once, and start it again.

    python docs/real_clients/run_flower.py state --kill-at 12

One SuperLink, and a SuperNode for each client. The server app is killed (SIGKILL) as soon as the log has the round that
``--kill-at`` says; then the app is run once more, and goes on where its state ends. Prints the last accuracy.
"""

from __future__ import annotations

import shutil
import socket
import time

from processes import HERE, Processes, arguments


def free_port() -> int:
    """A port of this machine that nobody uses."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def main() -> None:
    """Run until the log has every round."""
    given = arguments(__doc__, clients=20, rounds=30, kill_at=12)
    state = given.state.absolute()
    app, home, port = state / "app", state / "home", free_port()
    shutil.copytree(HERE, app, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "*run_*", "*.csv"))
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(
        f'[superlink]\ndefault = "here"\n[superlink.here]\naddress = "127.0.0.1:{port}"\ninsecure = true\n'
    )
    link = f"127.0.0.1:{port}"
    with Processes(state, given.seconds, (app,), FLWR_HOME=str(home), FLWR_TELEMETRY_ENABLED="0") as processes:

        def run() -> None:
            config = f'state="{state}" rounds={given.rounds} nodes={given.clients}'
            if processes.start("run", "flwr", "run", str(app), "here", "--run-config", config).wait(timeout=300):
                raise SystemExit(f"the app did not start: see {state / 'run.log'}")

        processes.start("superlink", "flower-superlink", "--insecure", "--port", str(port),
                        "--disable-runtime-dependency-installation")  # fmt: skip
        while socket.socket().connect_ex(("127.0.0.1", port)):
            time.sleep(0.2)
        for i in range(given.clients):
            node = f'client={i} clients={given.clients} trace="{HERE / "trace.csv"}"'
            processes.start(f"node-{i}", "flower-supernode", "--insecure", "--superlink", link,
                            "--node-config", node, "--port", str(free_port()))  # fmt: skip
        run()
        processes.wait("before the server is killed", given.kill_at)
        processes.kill_server()
        run()
        processes.wait("after the server was started again", given.rounds)
        print(processes.accuracy(given.rounds))


if __name__ == "__main__":
    main()
