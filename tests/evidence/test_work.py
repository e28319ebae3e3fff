"""Workers end with the process that started them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

MAIN = """
import sys
from functools import partial
{start}

def busy(path):
    import os, time
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    while True:
        time.sleep(0.01)

if __name__ == "__main__":
    {run}
"""
VERIFY = {
    "start": "from fedtheory.evidence.parallel_work import run_all",
    "run": "run_all({path: partial(busy, path) for path in sys.argv[1:]}, workers=2)",
}
SWEEP = {
    "start": "from fedtheory.experiments.sweeps import process_pool",
    "run": "list(process_pool(2)().map(busy, sys.argv[1:]))",
}

IDLE = {
    "start": "from fedtheory.evidence.parallel_work import run_all",
    "run": "run_all({'first': partial(pow, 2, 3), sys.argv[1]: partial(busy, sys.argv[1])}, workers=2)",
}


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def waited(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize("program", [VERIFY, SWEEP], ids=["verify", "sweep"])
def test_workers_of_a_killed_process_end(tmp_path, program):
    script = tmp_path / "main.py"
    script.write_text(MAIN.format(**program))
    notes = [tmp_path / "first", tmp_path / "second"]
    main = subprocess.Popen([sys.executable, str(script), *map(str, notes)], stderr=subprocess.DEVNULL)
    try:
        assert waited(lambda: all(note.exists() and note.read_text() for note in notes), 60)
    finally:
        main.kill()
        main.wait()
    workers = [int(note.read_text()) for note in notes]
    try:
        assert waited(lambda: not any(map(running, workers)), 10)
    finally:
        for pid in filter(running, workers):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
def test_workers_are_interrupted_without_a_word(tmp_path):
    """Only the process that started them says something; here, with Python's own traceback."""
    script, note = tmp_path / "main.py", tmp_path / "busy"
    script.write_text(MAIN.format(**IDLE))
    main = subprocess.Popen([sys.executable, str(script), str(note)], stderr=subprocess.PIPE, start_new_session=True)
    assert waited(lambda: note.exists() and note.read_text(), 60)
    time.sleep(0.5)
    os.killpg(main.pid, signal.SIGINT)
    _, text = main.communicate(timeout=20)
    assert text.rstrip().endswith(b"KeyboardInterrupt") and text.count(b"KeyboardInterrupt") == 1
    assert not running(int(note.read_text()))
