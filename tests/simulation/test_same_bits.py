"""The same script has the same bits in every process, whatever number of threads it finds and whatever is free."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from fedtheory.federations import network
from fedtheory.loops.threads import fixed
from fedtheory.simulation import engine

from . import same_bits

gradients = sys.modules["fedtheory.neural.gradients"]
SCRIPT = Path(same_bits.__file__)
PLENTY, LITTLE = 16 * 2**30, 600 * 2**20


@pytest.fixture(autouse=True)
def as_before():
    before, free = torch.get_num_threads(), same_bits.memory_limits._free
    yield
    torch.set_num_threads(before)
    same_bits.memory_limits._free = free


def elsewhere(threads: int, free: int) -> str:
    """In a fresh process."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(SCRIPT), str(threads), str(free)]
    return subprocess.run(command, env=environment, text=True, capture_output=True, check=True, timeout=200).stdout


@pytest.mark.slow
def test_fresh_processes_agree() -> None:
    found = {elsewhere(threads, free) for threads, free in ((1, PLENTY), (2, PLENTY), (2, LITTLE))}
    assert len(found) == 1


def test_threads_that_are_not_fixed_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the test above would find."""
    monkeypatch.setattr(engine, "fixed", lambda threads: contextlib.nullcontext())
    assert same_bits.main(1, PLENTY) != same_bits.main(2, PLENTY)


def test_a_clock_that_chooses_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()
    for order in (1, -1):
        slow = {name: float(place) for place, name in enumerate([*gradients.PATHS][::order])}
        monkeypatch.setattr(gradients, "_FASTEST", {})
        monkeypatch.setattr(gradients, "_seconds", lambda path, *trial, slow=slow: slow[path])
        assert same_bits.main(1, PLENTY)
        with monkeypatch.context() as relapse:
            relapse.setattr(network, "choose_path", lambda *given: gradients.fastest(*given[:4]))
            found.add(same_bits.main(1, PLENTY))
    assert len(found) == 2 and same_bits.main(1, PLENTY) == same_bits.main(1, LITTLE)


def test_runs_beside_one_another_have_one_number_of_threads() -> None:
    before = torch.get_num_threads()
    with fixed(1):
        with fixed(1):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 1
        with pytest.raises(ValueError, match="threads = 2: another run of this process has 1 now"), fixed(2):
            pass
    assert torch.get_num_threads() == before
    with fixed(2):
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == before


def test_a_network_without_a_record_goes_on_by_the_rule(tmp_path: Path) -> None:
    """As stores that were written before there were records."""
    setting = same_bits.settings()[2]
    options = {"replicas": 1, "rounds": 8, "record_every": 8, "seed": 5, "directory": tmp_path, "checkpoint_every": 2}

    def stop(done: int, total: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        setting.simulate(**options, progress=stop)
    (tag,) = tmp_path.glob("*/run.json")
    label = json.loads(tag.read_text())
    assert label["made_by"][0]["path"] == "loop"
    tag.write_text(json.dumps({name: value for name, value in label.items() if name not in ("made_by", "seal")}))
    mixed = setting.simulate(**options, mixed=True)
    assert mixed.where["path"] == "loop | not recorded"
    options["directory"] = None
    assert (mixed.rows["test_loss"] == setting.simulate(**options).rows["test_loss"]).all()


def test_a_number_of_threads_that_no_machine_has_is_refused() -> None:
    setting = same_bits.settings()[0]
    for threads in (0, 1025, 2**70, 1.5):
        with pytest.raises(ValueError, match=r"threads = .*: allowed is an integer"):
            setting.simulate(replicas=1, rounds=1, threads=threads)
