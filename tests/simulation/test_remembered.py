"""What an algorithm remembers of all clients: in the last checkpoints alone, and held once."""

import numpy as np
import pytest

from fedtheory.algorithms import fedavg
from fedtheory.federations import Quadratic
from fedtheory.neural import Adam
from fedtheory.participation import Uniform
from fedtheory.setting import Setting
from fedtheory.simulation import checkpoint, rounds
from fedtheory.simulation.segment import read_segment

from .test_checkpoint import assert_same_run, interrupt_at


def run(directory, clients=6, dimension=3, progress=None, **changes):
    generator = np.random.default_rng(1)
    fed = Quadratic(np.ones((clients, dimension)), generator.normal(size=(clients, dimension)), gradient_noise=0.5)
    algorithm = fedavg(local_lr=0.1, local_steps=2).trained_by(Adam(keep=True))
    options = {"replicas": 3, "rounds": 23, "seed": 3, "checkpoint_every": 5} | changes
    return Setting(fed, algorithm, Uniform(2), start=1.0).simulate(**options, directory=directory, progress=progress)


def remembering(directory):
    """The rounds of the checkpoints that have what clients' solvers remember."""
    paths = sorted(directory.rglob("segment-*.npz"))
    known = [{name for name in read_segment(path) if name.startswith("memory.")} for path in paths]
    assert set(map(len, known)) <= {0, 3}  # Adam's mean, square and steps
    return [int(path.stem[-12:]) for path, names in zip(paths, known, strict=True) if names]


def test_the_last_two_checkpoints_alone_have_it(tmp_path):
    whole = run(tmp_path)
    assert remembering(tmp_path) == [20, 24]
    assert_same_run(run(tmp_path), whole)
    assert_same_run(run(None), whole)


@pytest.mark.parametrize("call", [1, 7, 12, 17, 22])
def test_a_run_goes_on_with_it(tmp_path, call):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, progress=interrupt_at(call))
    assert remembering(tmp_path) == [r for r in (5, 10, 15, 20) if call - 10 <= r < call]
    assert_same_run(run(tmp_path), run(None))
    assert remembering(tmp_path) == [20, 24]


def test_the_last_checkpoint_may_be_removed(tmp_path):
    run(tmp_path)
    sorted(tmp_path.rglob("segment-*.npz"))[-1].unlink()
    assert_same_run(run(tmp_path), run(None))


def test_without_the_last_two_it_is_missed(tmp_path):
    run(tmp_path)
    paths = sorted(tmp_path.rglob("segment-*.npz"))
    for path in paths[-2:]:
        path.unlink()
    with pytest.raises(ValueError, match="later ones are missing; allowed is a store that has them") as error:
        run(tmp_path)
    assert str(paths[-3]) in str(error.value)


@pytest.mark.parametrize("number", [1, 3])
def test_a_crash_before_an_earlier_checkpoint_is_written_again_does_no_harm(tmp_path, monkeypatch, number):
    write, calls = checkpoint.write_segment, []

    def crashing(path, arrays):
        if path.exists():
            calls.append(path)
            if len(calls) == number:
                raise OSError("power cut")
        write(path, arrays)

    monkeypatch.setattr(checkpoint, "write_segment", crashing)
    with pytest.raises(OSError, match="power cut"):
        run(tmp_path)
    monkeypatch.undo()
    assert_same_run(run(tmp_path), run(None))


def test_a_round_changes_it_where_it_is(monkeypatch):
    """Of 10^4 clients two train: nothing of the size of all of them is made."""
    seen = []
    before = rounds.advancing

    def watched(plan, state, *rest):
        places = {name: value.data_ptr() for name, value in state.memory.items()}
        copies = {name: value.clone() for name, value in state.memory.items()}
        yield from before(plan, state, *rest)
        changed = [int((state.memory[name] != copies[name]).flatten(1).any(1).sum()) for name in copies]
        moved = (state.memory["local_mean"] != copies["local_mean"]).any(-1).sum(1)
        seen.append((places == {name: value.data_ptr() for name, value in state.memory.items()}, changed, moved))

    monkeypatch.setattr("fedtheory.simulation.engine.advancing", watched)
    run(None, clients=100, rounds=4)
    assert len(seen) == 4
    for same, changed, moved in seen:
        assert same and changed == [3, 3, 3] and (moved == 2).all()
