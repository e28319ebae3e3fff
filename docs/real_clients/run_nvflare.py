"""Run MIFA on the digits behind NVFlare's simulator on this machine, kill the server once, and start it again.

    python docs/real_clients/run_nvflare.py state --kill-at 4

The simulator starts a process for the server and one for each client. The server's is killed (SIGKILL) as soon as the
log has the round that ``--kill-at`` says; then the job is run once more, and goes on where its state ends. Prints the
last accuracy.
"""

from __future__ import annotations

import os
import shlex

from digits import task
from digits.controller import DigitsController
from nvflare.job_config.api import FedJob
from nvflare.job_config.script_runner import FrameworkType, ScriptRunner
from processes import HERE, Processes, arguments


def job(clients: int, rounds: int, state: str) -> FedJob:
    """The job: a controller for the server, a script for the clients, and the code of both."""
    made = FedJob(name="digits", min_clients=clients)
    made.set_app_packages(["fedtheory", "digits"])
    made.to_server(DigitsController("mifa", clients, rounds, state))
    made.to_server({"server": {"task_request_interval": 0.5}})
    made.to_clients(
        ScriptRunner(
            script="digits/site_script.py",
            script_args=f"{clients} {shlex.quote(str(HERE / 'trace.csv'))}",
            framework=FrameworkType.NUMPY,
        )
    )
    for add in (made.add_file_to_server, made.add_file_to_clients):
        add(str(HERE / "digits"), dest_dir="digits", app_folder_type="custom")
    return made


def main() -> None:
    """Run until the log has every round."""
    given = arguments(__doc__, clients=5, rounds=12, kill_at=4)
    os.chdir(HERE)  # a job's scripts are named from here
    state = given.state.absolute()
    job(given.clients, given.rounds, str(state)).export_job(str(state / "jobs"))
    with Processes(state, given.seconds) as processes:
        command = ("nvflare", "simulator", str(state / "jobs" / "digits"), "-w", str(state / "workspace"),
                   "-c", ",".join(task.names(given.clients)), "-t", str(given.clients))  # fmt: skip
        killed = processes.start("simulator", *command)
        processes.wait("before the server is killed", given.kill_at)
        processes.kill_server()
        killed.wait(timeout=60)
        processes.start("simulator", *command)
        processes.wait("after the server was started again", given.rounds)
        print(processes.accuracy(given.rounds))


if __name__ == "__main__":
    main()
