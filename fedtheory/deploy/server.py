"""A server of real clients, without a framework: whom to ask, what to make of the answers, what is kept on disk."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..algorithms.algorithm import Algorithm, ServerRound
from ..arguments import listed, number_array
from ..files import Damaged, archived, locked, parsing, read_arrays, write_beside
from ..rationals import checked_count, checked_seed
from .answers import LONGEST, Answer, as_number, as_row, in_line, is_name, shown
from .numpy_rounds import Memory, asked, checked_kinds, client_round, initial_memory, is_first
from .round_log import DROPPED, FAILED, MISSING, RECEIVED, UNAVAILABLE, RoundLog, Row

LAYOUT = 1
"""Version of a state's content."""

logger = logging.getLogger(__name__)

Gradient = Callable[[list[np.ndarray], int, int], Sequence[np.ndarray]]
"""Gradient of the server's own data: of (model, round, step of the round), shaped as the model."""


@dataclass(frozen=True)
class Asked:
    """Tasks of a round: whom to ask, and what for.

    Attributes:
        round: counted from 0.
        clients: who is to be asked. In a round of the server's own nobody is.
        instructions: of local training, by name: the round, ``local_lr`` (a number, or a list of one for each step),
            ``local_steps`` and ``proximal``.
        own: whether the round is the server's own.
    """

    round: int
    clients: tuple[str, ...]
    instructions: Mapping[str, Any]
    own: bool = False


class Server:
    """Server that runs an algorithm of ``fedtheory.algorithms`` with clients who are somewhere else.

    A round is ``begin``, which says whom to ask, and ``end``, which takes what they answered. What cannot be taken is
    dropped and named in the log, and the run goes on: other shapes, NaN, an answer to another round, a client that is
    none of these, that comes twice, or whose connection was another client's before. A round in which nobody answers
    leaves the model as it is, unless the algorithm ``steps_when_empty``. Where a round cannot be ended the server is
    closed; what is on disk is from before that round.

    The model is kept in float64, and handed out in the precision that it was given in. Arrays of whole numbers are not
    trained: they stay as they were given.

    Attributes:
        round: the coming one. rows: of the log, of the last one.

    Args:
        algorithm: such as ``fedau(local_lr=..., cutoff=50)``.
        model: its arrays before round 0.
        clients: the names of all clients; or how many there are, who then get their numbers as they come.
        directory: where the log and the state are kept, from which a server that is started again goes on; ``None``:
            nowhere.
        seed: of all draws.
        server_gradient: of algorithms whose server makes steps of its own.

    Raises:
        ValueError: the algorithm cannot be deployed, or the directory has the state of another run.
        Damaged: another server holds the directory, or what it has is damaged.

    >>> from fedtheory.algorithms import fedau
    >>> server = Server(fedau(local_lr="1/10", cutoff=50), [np.zeros(2)], clients=["a", "b"])
    >>> server.begin(["b"]).clients
    ('b',)
    >>> server.end([Answer("b", [np.array([1.0, -1.0])], examples=10)])
    >>> server.model[0].tolist(), server.round
    ([0.5, -0.5], 1)
    """

    def __init__(
        self,
        algorithm: Algorithm,
        model: Sequence[np.ndarray],
        clients: int | Sequence[str],
        *,
        directory: str | Path | None = None,
        seed: int = 0,
        server_gradient: Gradient | None = None,
    ) -> None:
        names = None if isinstance(clients, Integral) else _checked_names(clients)
        if not isinstance(algorithm, Algorithm):
            raise ValueError(f"algorithm = {algorithm!r}: allowed is one of fedtheory.algorithms")
        self.algorithm, self.seed, self.server_gradient = algorithm, checked_seed(seed), server_gradient
        self.clients = checked_count("clients", clients) if names is None else len(names)
        self.kinds = checked_kinds(algorithm, self.clients, names is not None)
        if server_gradient is None and any(isinstance(kind, ServerRound) for kind in self.kinds):
            raise ValueError("server_gradient = None: allowed is a function, as the server makes steps of its own")
        self._given = [_checked_array(i, each) for i, each in enumerate(listed("model", model, "a list of arrays"))]
        self._trained = [i for i, each in enumerate(self._given) if each.dtype.kind == "f"]
        if not self._trained:
            raise ValueError("model has no array of floats: allowed is at least one")
        self.x = as_row(self._given, self._given)
        self.names: list[str] = list(names or ())
        self._numbers = {name: i for i, name in enumerate(self.names)}
        self._roster = names is not None
        self.round, self.probability, self.accuracy = 0, np.zeros(1), np.zeros(1)
        self.memory: Memory = initial_memory(self.kinds, self.x, self.clients)
        self.senders: dict[str, str] = {}
        self.rows: tuple[Row, ...] = ()
        self._open: tuple[Asked, np.ndarray, np.ndarray] | None = None
        self._held, self._closed = ExitStack(), False
        self.log: RoundLog | None = None
        self.path = None if directory is None else Path(directory) / "state.npz"
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._held.enter_context(locked(self.path.parent / "lock", make=True, wait=False))
            try:
                self._load_or_begin(self.path)
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the directory free for another server. This one begins no further round."""
        self._held.close()
        self._open, self._closed = None, True

    def met(self, sender: str, name: str) -> None:
        """Remember whose a connection is that nothing was known of: answers over it are that client's alone."""
        self.senders.setdefault(sender, name)

    @property
    def model(self) -> list[np.ndarray]:
        """The arrays to hand out, in the precision that they were given in."""
        return self._arrays(self.x)

    def _arrays(self, x: np.ndarray) -> list[np.ndarray]:
        found, at = [each.copy() for each in self._given], 0
        for i in self._trained:
            size = found[i].size
            found[i] = x[0, at : at + size].reshape(found[i].shape).astype(found[i].dtype)
            at += size
        return found

    def begin(self, available: Iterable[str]) -> Asked:
        """Begin a round: return whom of the clients that are ``available`` to ask. One that is none of this run's is
        left out. It may be begun again before ``end``, with others who are available.

        Raises:
            ValueError: the server is closed.
        """
        if self._closed:
            raise ValueError("begin: allowed is no round of a server that is closed")
        there = np.zeros(self.clients, dtype=bool)
        for name in dict.fromkeys(map(str, available)):
            if (number := self._number(name)) is not None:
                there[number] = True
            else:
                logger.warning("client %s is none of the %d clients", shown(name), self.clients)
        first = is_first(self.algorithm, self.seed, self.round, self.probability)
        kind = self.kinds[0 if first else 1].at(self.round)
        if isinstance(kind, ServerRound):
            task = Asked(self.round, (), {"round": self.round}, own=True)
            self._open = task, there, np.zeros(self.clients, dtype=np.int8)
            return task
        counts = asked(kind, self.seed, self.round, there, self.memory)
        size = kind.local_lr
        instructions = {
            "round": self.round,
            "local_lr": [float(each) for each in size] if isinstance(size, tuple) else float(size),  # type: ignore[arg-type]
            "local_steps": kind.local_steps,
            "proximal": float(kind.proximal),
        }
        chosen = tuple(self.names[i] for i in np.flatnonzero((counts > 0) & there))
        task = Asked(self.round, chosen, instructions)
        self._open = task, there, counts
        return task

    def end(self, answers: Iterable[Answer], accuracy: float | None = None) -> None:
        """End a round with the answers to it, and save what follows.

        Args:
            answers: of those who were asked, in any order; who is missing did not answer.
            accuracy: of the model before the round, on all clients' training data, for snapshots that adapt to it; by
                default the mean of what clients report.

        Raises:
            ValueError: no round was begun; the server's own gradient is none; or the next model is not finite.
        """
        if self._open is None:
            raise ValueError("end: allowed after begin")
        try:
            self._end(*self._open, answers, accuracy)
        except BaseException:
            self.close()
            raise

    def _end(
        self, task: Asked, there: np.ndarray, counts: np.ndarray, answers: Iterable[Answer], accuracy: float | None
    ) -> None:
        sent = as_row(self.model, self._given)
        kind = self.kinds[0 if self._is_first() else 1].at(self.round)
        rows: dict[str, Row] = {
            self.names[i]: Row(task.round, self.names[i], MISSING if there[i] else UNAVAILABLE)
            for i in np.flatnonzero(counts)
            if i < len(self.names)
        }
        came: dict[int, tuple[np.ndarray, float]] = {}
        reported: list[float] = []
        for answer in answers:
            name = str(answer.client)
            status, reason, number, delta = self._taken(name, answer, task, came, sent)
            reason = in_line(reason)
            if status != RECEIVED:
                logger.warning("round %d: %s: %s", task.round, shown(name), reason)
            if number is None:
                continue
            before = rows.get(name)
            if delta is not None:
                came[number] = delta, float(answer.examples)
                rows[name] = Row(task.round, name, RECEIVED, _whole(answer.examples), reason)
                reported += [] if answer.accuracy is None else [float(answer.accuracy)]
            elif before is None or before.status != RECEIVED:
                rows[name] = Row(task.round, name, status, 0, reason)
            else:
                rows[name] = before._replace(reason=reason)
        if isinstance(kind, ServerRound):
            x, memory = self._own_steps(kind), self.memory
        else:
            order = sorted(came)
            own, examples = np.zeros_like(counts), np.zeros(self.clients)
            own[order], examples[order] = counts[order], [came[i][1] for i in order]
            delta = np.stack([came[i][0] for i in order]) if order else np.zeros((0, self.x.shape[1]))
            with np.errstate(over="ignore", invalid="ignore"):
                x, memory = client_round(kind, task.round, self.x, there, own, delta, examples, self.memory)
        with np.errstate(over="ignore"):  # the next model in the precision that it is handed out in
            following = self._arrays(x)
        if not all(np.isfinite(following[i]).all() for i in self._trained):
            raise ValueError(f"round {task.round}: the run diverges: the next model is not finite")
        if self.algorithm.adaptive:
            self._adapt(accuracy if accuracy is not None else np.mean(reported) if reported else None)
        self.x, self.memory, self.round, self._open = x, memory, task.round + 1, None
        self.rows = tuple(rows.values())
        self._keep(task, rows)

    def _is_first(self) -> bool:
        return is_first(self.algorithm, self.seed, self.round, self.probability)

    def _adapt(self, accuracy: Any) -> None:
        if accuracy is None or not math.isfinite(accuracy):
            return
        now, following = np.array([float(accuracy)]), self.algorithm.next_probability
        self.probability = following(self.probability, self.accuracy, now)  # type: ignore[arg-type, assignment]
        self.accuracy = now

    def _own_steps(self, kind: ServerRound) -> np.ndarray:
        x = self.x
        for step in range(kind.steps):
            gradient = self.server_gradient(self._arrays(x), self.round, step)  # type: ignore[misc]
            try:
                x = x - float(kind.server_lr) * as_row(gradient, self._given)  # type: ignore[arg-type]
            except ValueError as error:
                raise ValueError(f"server_gradient: {error}") from None
        return x

    def _taken(
        self, name: str, answer: Answer, task: Asked, came: Mapping[int, Any], sent: np.ndarray
    ) -> tuple[str, str, int | None, np.ndarray | None]:
        """Return the status of an answer, why, whose it is, and its update where it can be taken."""
        sender = str(answer.sender)
        number = self._number(name)
        if number is None:
            return DROPPED, f"is none of the {self.clients} clients", None, None
        if sender and self.senders.get(sender, name) != name:
            return DROPPED, f"connection {sender} was client {self.senders[sender]!r} before", number, None
        if sender:
            self.met(sender, name)
        if answer.round is not None:
            of = as_number(answer.round)
            if of != task.round:
                late = "late: " if of is not None and of < task.round else ""
                return DROPPED, f"{late}an answer to round {shown(answer.round)}", number, None
        if name not in task.clients:
            return DROPPED, "was not asked", number, None
        if number in came:
            return DROPPED, "answered twice: the first answer counts", number, None
        if answer.arrays is None:
            return FAILED, str(answer.error) or "failed", number, None
        try:
            row = as_row(answer.arrays, self._given)
        except ValueError as error:
            return DROPPED, str(error), number, None
        with np.errstate(over="ignore"):
            delta = (row - sent)[0]
        if not np.isfinite(delta).all():
            return DROPPED, "its update is not finite", number, None
        examples, accuracy = as_number(answer.examples), as_number(answer.accuracy)
        if examples is None or examples < 0 or (examples == 0 and self._by_examples):
            allowed = "a number > 0" if self._by_examples else "a number >= 0"
            return DROPPED, f"examples = {shown(answer.examples)}: allowed is {allowed}", number, None
        if answer.accuracy is not None and (accuracy is None or not 0 <= accuracy <= 1):
            return DROPPED, f"accuracy = {shown(answer.accuracy)}: allowed is a number from 0 to 1", number, None
        return RECEIVED, "", number, delta

    @property
    def _by_examples(self) -> bool:
        rules = [kind.aggregation for kind in self.kinds if not isinstance(kind, ServerRound)]
        return any(getattr(rule, "samples", 0) is None for rule in rules)

    def _number(self, name: str) -> int | None:
        """The number of a client, who gets one when it first comes if there is room."""
        if name not in self._numbers:
            if self._roster or len(self.names) >= self.clients or not is_name(name):
                return None
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]

    def _keep(self, task: Asked, rows: dict[str, Row]) -> None:
        """Append the round to the log, then save the state."""
        if self.path is None or self.log is None:
            return
        first = task.round == 0
        told = [name for name in self.names if first or not rows][: None if first else 1]
        for name in told:  # so that the log has all who are known, and every round
            rows.setdefault(name, Row(task.round, name, UNAVAILABLE))
        self.log.append(rows.values())
        write_beside(self.path, self._content())

    def _label(self) -> dict[str, Any]:
        """What has to agree for a state to be of this run."""
        return {
            "layout": LAYOUT,
            "algorithm": repr(self.algorithm),
            "clients": self.names if self._roster else self.clients,
            "seed": self.seed,
            "model": [[each.dtype.str, list(each.shape)] for each in self._given],
        }

    def _content(self) -> bytes:
        """The state as an archive of arrays."""
        label = self._label() | {
            "round": self.round,
            "names": self.names,
            "senders": self.senders,
            "log": 0 if self.log is None else self.log.length,
        }
        fixed = {f"fixed.{i}": each for i, each in enumerate(self._given) if i not in self._trained}
        memory = {f"memory.{name}": value for name, value in self.memory.items()}
        text = np.frombuffer(json.dumps(label).encode(), dtype=np.uint8)
        return archived(label=text, x=self.x, probability=self.probability, accuracy=self.accuracy, **fixed, **memory)

    def _load_or_begin(self, path: Path) -> None:
        log = path.with_name("log.csv")
        if not path.exists():
            if log.exists():
                raise Damaged(log, f"is there, and {path.name} is not: allowed are both, or none")
            self.log = RoundLog(log, 0)
            write_beside(path, self._content())
            return
        found = read_arrays(path)
        with parsing(path, "damaged state"):
            label = json.loads(found.pop("label").tobytes())
            differing = [
                f"{name} = {_short(label.get(name))} there, {_short(value)} here"
                for name, value in self._label().items()
                if label.get(name) != value
            ]
        if differing:
            raise ValueError(f"directory = {str(path.parent)!r} holds another run: {'; '.join(differing)}")
        with parsing(path, "damaged state"):
            self.round, self.names, self.senders = int(label["round"]), list(label["names"]), dict(label["senders"])
            self._numbers = {name: i for i, name in enumerate(self.names)}
            for name in ("x", "probability", "accuracy"):
                setattr(self, name, _same_kind(name, found.pop(name), getattr(self, name)))
            for i in set(range(len(self._given))) - set(self._trained):
                self._given[i] = _same_kind(f"fixed.{i}", found.pop(f"fixed.{i}"), self._given[i])
            if {name.removeprefix("memory.") for name in found} != set(self.memory):
                raise ValueError(f"it has {sorted(found)}: allowed are {sorted(self.memory)}")
            self.memory = {
                name: _same_kind(name, found[f"memory.{name}"], value).copy() for name, value in self.memory.items()
            }
            length = int(label["log"])
        self.log = RoundLog(log, length)
        if not length and log.exists():  # of a first round that was not finished
            log.unlink()


def _same_kind(name: str, found: np.ndarray, known: np.ndarray) -> np.ndarray:
    if found.dtype != known.dtype or found.shape != known.shape:
        raise ValueError(f"{name} is {found.dtype} {found.shape}: allowed is {known.dtype} {known.shape}")
    return found


def _checked_names(clients: Any) -> list[str]:
    if isinstance(clients, str) or not hasattr(clients, "__len__"):
        raise ValueError(f"clients = {clients!r}: allowed is a number, or a list of names")
    names = [str(each) for each in clients]
    if not names or len(set(names)) < len(names) or not all(map(is_name, names)):
        raise ValueError(
            f"clients = {_short(names)}: allowed are distinct names, each of 1 to {LONGEST} characters that can be "
            "printed, without space around it"
        )
    return names


def _checked_array(i: int, given: Any) -> np.ndarray:
    array = np.array(number_array(f"model[{i}]", given, None))
    if array.dtype.kind not in "fiub" or not np.isfinite(array).all():
        what = "not finite" if array.dtype.kind == "f" else array.dtype
        raise ValueError(f"model[{i}] is {what}: allowed are finite numbers")
    return array


def _whole(value: float) -> float:
    return int(value) if float(value).is_integer() else float(value)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 200 else f"{text[:100]} ... {text[-90:]}"
