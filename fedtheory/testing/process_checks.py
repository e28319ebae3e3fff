"""Check a participation process against what the engine and exact moments rely on.

Statistical comparisons use Bernstein's inequality, whose bounds hold for every sample size. Their level is 10^-8 for
all of a process's numbers together. The sizes, rounds and lags are fixed beforehand.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..arguments import check_count, described
from ..participation import Inclusion, Keys, Participation
from ..randomness import Axis
from ..rationals import checked_seed
from . import check_errors
from .weight_checks import Report

LEVEL = 1e-8
"""Probability that a correct process is refused."""

REPLICAS, MOMENT_ROUNDS, LATE_ROUNDS = 16_000, (0, 1, 6), (300, 1000)
"""Number of replicas of the samples of moments, and their rounds; of late rounds there are as many as histories."""

FOLLOWED, LAGS, HISTORIES = 12, 6, 2_000
"""Number of rounds that are followed, of lags at which they are compared, and of replicas."""

REPEATS = (*range(64), 100, 128, 255, 256, 300, 512, 1000, 1001, 1024)
"""Rounds of which any two are compared, for each client, where rounds are independent."""

SEEDS = (1, 2, 2**8, 2**16, 2**32, 2**62)
"""Distances of other seeds."""

GROUPS = 3
"""Number of groups of means, each with its part of the level: moments, rounds at short lags, any two rounds."""

FEW = 7
"""Number of replicas in comparisons of draws with draws."""

RARE = 50.0
"""Expected number of changes in a sample from which on it cannot lack them by chance."""

FAR = 300
"""Late round that is reached both at once and step by step."""

CANDIDATES = (6, 5, 4, 3, 7, 8, 2, 1, *range(9, 257), 300, 400, 500, 512, 1000, 1024)
"""Numbers of clients that are tried if none is given."""


def check_participation(
    process: Participation, clients: int | None = None, *, seed: int = 0, replicas: int = REPLICAS
) -> Report:
    """Check a participation process: raise an error that names the first property that fails.

    The properties, each with the error that reports its failure:

    - Counts are int8 and not negative, and add up to what `sizes` states (`CountsError`).
    - Draws depend on (seed, replica, round) alone. They are the same when asked again (`UnkeyedDrawsError`), whatever
      shares the batch (`BatchPlaceError`), and in any chunk of rounds (`ChunkError`). They are the same whether a
      round is reached step by step or at once (`FarRoundError`), and from a state that was kept (`ResumeError`).
    - Other seeds and replicas give other draws, unless the process is ``deterministic`` (`DeterminismError`).
    - The moments of `marginal`, `inclusion`, `expected` and `stationary` are those of the draws (`MomentsError`).
    - Rounds depend on each other as ``independent_rounds`` and, if there is one, ``twice`` state
      (`RoundCovarianceError`).
    - Replicas are independent (`ReplicaCovarianceError`).

    With 16,000 replicas and 6 clients, an error of 0.04 in the probability of a client, or of a pair of them, is found
    with probability 0.99. A correct process is refused for one seed in 10^8.

    Args:
        process: the process.
        clients: the number of clients it runs on; by default one that it accepts.
        seed: the seed of the draws.
        replicas: the number of replicas of the samples of moments, at least 1000; use fewer for a slow process.

    Returns:
        The names of the properties that were checked; the printed form adds the range that was checked.

    Raises:
        PropertyError: the subclass named above; it is an AssertionError.
        ValueError: no process, clients on which it cannot run, or too few replicas.

    >>> from fedtheory.participation import Markov
    >>> print(check_participation(Markov(["1/4", "1/2"], ["1/8", "1/4"])))  # doctest: +ELLIPSIS
    counts in range: of 2 clients
    draws by seed, replica and round alone
    ...
    """
    if not isinstance(process, Participation):
        raise ValueError(f"process = {process!r}: allowed is a Participation")
    if check_count("replicas", replicas) < 1000:
        raise ValueError(f"replicas = {replicas}: allowed is an integer >= 1000")
    tried = _Tried(
        process, _clients(process) if clients is None else check_count("clients", clients), checked_seed(seed)
    )
    process.check(tried.clients)
    told = {"counts in range": f"of {tried.clients} clients"}
    tried.counts()
    for check, name in (
        (tried.keyed, "draws by seed, replica and round alone"),
        (tried.chunks, "any chunk of rounds"),
        (tried.far, "far rounds"),
        (tried.resumed, "states that resume"),
    ):
        check()
        told[name] = f"up to round {FAR}" if check == tried.far else ""
    tried.determinism()
    told["deterministic or not"] = ""
    known = _Moments(process, tried.clients)
    if known.marginal(0) is None:
        return Report(told)
    known.agree()
    tried.moments(known, replicas)
    late = "".join(f", {HISTORIES} of round {round}" for round in tried.late_moments(known))
    rounds = ", ".join(map(str, MOMENT_ROUNDS))
    told["moments of one round"] = f"from {replicas} replicas of the rounds {rounds}{late}"
    tried.covariances(known)
    told["replicas independent"] = ""
    if process.independent_rounds or hasattr(process, "twice"):
        told["dependence between rounds"] = f"up to lag {LAGS}"
    if process.independent_rounds:
        told["dependence between rounds"] += f"; of a client itself, any two of {tried.repeats()} rounds"
    return Report(told)


def _clients(process: Participation) -> int:
    """Find a number of clients that the process accepts and draws counts for."""
    wrong = ""
    for clients in CANDIDATES:
        try:
            process.check(clients)
        except ValueError:
            continue
        try:
            counts, _ = drawn_by(process, process.init(Keys(0, Axis.ARBITRARY, torch.arange(2), clients)), 0)
        except (ValueError, IndexError, RuntimeError) as error:
            wrong = (
                wrong or f" (of {clients}, which it accepts: {type(error).__name__}: {' '.join(str(error).split())})"
            )
            continue
        if counts.shape == (2, clients):
            return clients
        shape = f"counts of 2 replicas are {tuple(counts.shape)}"
        wrong = wrong or f" (of {clients}, which it accepts: {shape}, allowed is (2, {clients}))"
    raise ValueError(f"clients: {type(process).__name__} runs on none of 1 to 256{wrong}; allowed is their number")


def drawn_by(process: Participation, state: Any, round: int) -> tuple[Any, Any]:
    """Return what ``step`` returns.

    Raises:
        CountsError: it is not two things.
    """
    found = process.step(state, round)
    if not isinstance(found, tuple) or len(found) != 2:
        raise check_errors.CountsError("the counts and the next state from step", described(found))
    return found


class _Moments:
    """Moments that a process states for its rounds, in floats."""

    def __init__(self, process: Participation, clients: int) -> None:
        self.process, self.clients = process, clients

    def marginal(self, round: int) -> Inclusion | None:
        """Return the moments of a round, or None if the process states none."""
        try:
            found = self.process.marginal(self.clients, round)
        except (ValueError, NotImplementedError):
            return None
        return self._whole("marginal", found)

    def _whole(self, name: str, found: Any) -> Inclusion:
        """Return moments in floats, of the shapes that they have to have."""
        if not isinstance(found, Inclusion):
            raise check_errors.MomentsError("an Inclusion", described(found), told=f"of {name}")
        shapes = (self.clients,), (self.clients, self.clients)
        if (found.first.shape, found.second.shape) != shapes:
            raise check_errors.MomentsError(shapes, (found.first.shape, found.second.shape), told=f"{name}, by shape")
        return found.as_floats()

    def agree(self) -> None:
        """Check that `expected`, `inclusion` and `stationary` agree with `marginal`."""
        said: dict[str, Any] = {}
        for name in ("inclusion", "stationary"):
            try:
                said[name] = getattr(self.process, name)(self.clients)
            except (ValueError, NotImplementedError):
                continue
        for round in range(FOLLOWED):
            marginal = self.marginal(round)
            if marginal is None:  # a record that has ended
                break
            found = {"expected": self.process.expected(self.clients, round)}
            found |= {"stationary": said["stationary"]} if "stationary" in said else {}
            for name, first in found.items():
                self._same(name, round, np.asarray(first, float), marginal.first)
            if "inclusion" in said:
                self._same("inclusion", round, self._whole("inclusion", said["inclusion"]).second, marginal.second)
            self._same("marginal, transposed,", round, marginal.second.T, marginal.second)

    def _same(self, name: str, round: int, one: np.ndarray, other: np.ndarray) -> None:
        if one.shape != other.shape or not np.allclose(one, other, rtol=1e-9, atol=1e-12):
            raise check_errors.MomentsError(other, one, told=f"{name} in round {round} against marginal")


class _Tried:
    """Draws of a process, compared with each other and with what it states of itself."""

    def __init__(self, process: Participation, clients: int, seed: int) -> None:
        self.process, self.clients, self.seed = process, clients, seed
        self.last = FAR
        for round in (FAR, FOLLOWED - 1, 0):
            try:  # a record may end
                process.step(self.state(1), round)
            except ValueError:
                continue
            self.last = round
            break

    def state(self, replicas: int | Tensor, seed: int | None = None, axis: Axis = Axis.ARBITRARY) -> Any:
        ids = torch.arange(replicas) if isinstance(replicas, int) else replicas
        return self.process.init(Keys(self.seed if seed is None else seed, axis, ids, self.clients))

    def drawn(
        self, replicas: int | Tensor, rounds: int = FOLLOWED, seed: int | None = None, axis: Axis = Axis.ARBITRARY
    ) -> Tensor:
        """Draw counts (rounds, replicas, clients) step by step."""
        state, found = self.state(replicas, seed, axis), []
        for round in range(min(rounds, self.last + 1)):
            counts, state = self.process.step(state, round)
            found.append(torch.as_tensor(counts))
        return torch.stack(found)

    def counts(self) -> None:
        counts = drawn_by(self.process, self.state(FEW), 0)[0]
        if not isinstance(counts, Tensor) or counts.dtype != torch.int8 or counts.shape != (FEW, self.clients):
            shown = f"{type(counts).__name__} {tuple(getattr(counts, 'shape', ()))} {getattr(counts, 'dtype', '')}"
            raise check_errors.CountsError(f"a tensor ({FEW}, {self.clients}) of int8", shown)
        said = self.process.sizes(self.clients)
        if not (isinstance(said, tuple) and len(said) == 2 and all(isinstance(each, int) for each in said)):
            raise check_errors.CountsError(
                "two integers from sizes", said if isinstance(said, tuple) else described(said)
            )
        fewest, most = said
        found = self.drawn(400)
        sizes = found.to(torch.int64).sum(2)
        for bad in torch.argwhere((found < 0).any(2) | (sizes < fewest) | (sizes > most)).tolist()[:1]:
            raise check_errors.CountsError(
                f"counts >= 0, {fewest} to {most} in all", found[tuple(bad)].tolist(), told=f"in round {bad[0]}"
            )

    def keyed(self) -> None:
        together = self.drawn(FEW)
        self._equal(check_errors.UnkeyedDrawsError, together, self.drawn(FEW))
        some = torch.tensor([5, 2, 2, 6])
        self._equal(check_errors.BatchPlaceError, together[:, some], self.drawn(some))
        self._equal(check_errors.BatchPlaceError, together[:, 3:4], self.drawn(torch.tensor([3])))

    def chunks(self) -> None:
        whole, state, found, first = self.drawn(FEW), self.state(FEW), [], 0
        for size in (1, 3, FOLLOWED):
            size = min(size, len(whole) - first)
            if size > 0:
                counts, state = self.process.steps(state, first, size)
                found.append(counts)
                first += size
        self._equal(check_errors.ChunkError, whole, torch.cat(found))

    def far(self) -> None:
        """Check rounds that are reached from the initial state, and from the state of another round."""
        walked, state = self.drawn(FEW, self.last + 1), self.state(FEW)
        for round in (self.last, self.last // 2, 0, min(7, self.last), min(8, self.last)):
            at_once, _ = self.process.step(self.state(FEW), round)
            leapt, state = self.process.step(state, round)
            for counts in (at_once, leapt):
                self._equal(check_errors.FarRoundError, walked[round], counts, told=f"in round {round}")

    def resumed(self) -> None:
        """Check that a kept or copied state goes on as it would have, and that a run in between changes nothing."""
        whole, state = self.drawn(FEW, 9), self.state(FEW)
        for round in range(len(whole)):
            kept = copy.deepcopy(state)
            counts, following = self.process.step(state, round)
            self.process.step(self.state(FEW, self.seed + 1), round)
            for again in (state, kept):
                self._equal(
                    check_errors.ResumeError, whole[round], self.process.step(again, round)[0], f"in round {round}"
                )
            self._equal(check_errors.ResumeError, whole[round], counts, f"in round {round}")
            state = following

    def determinism(self) -> None:
        """Check that draws agree between replicas, seeds and axes only if the process states to be deterministic."""
        found = self.drawn(400)
        moments = _Moments(self.process, self.clients).marginal(0)
        others = [("replicas", found.roll(1, 1))]
        if moments is not None:  # else it may look at the run, as LargestNoise does
            others += [("axes", self.drawn(400, axis=Axis.SNAPSHOT))]
        others += [("seeds", self.drawn(400, seed=(self.seed + distance) % 2**63)) for distance in SEEDS]
        alike = [(name, torch.equal(found, other)) for name, other in others]
        if self.process.deterministic:
            wrong = [name for name, same in alike if not same]
            expected = "the same draws"
        else:  # Uniform(clients) is not said to be deterministic, and is
            changes = 1.0 if moments is None else float((np.diag(moments.second) - moments.first**2).sum())
            certain = changes * 400 * FOLLOWED < RARE
            wrong = [name for name, same in alike if same and not certain]
            expected = "other draws, as it is not said to be deterministic,"
        if wrong:
            raise check_errors.DeterminismError(f"{expected} for other {wrong[0]}", "the contrary in 400 replicas")

    def moments(self, known: _Moments, replicas: int) -> None:
        for round in MOMENT_ROUNDS:
            said = known.marginal(round) if round <= self.last else None
            if said is None:
                break
            self._moments_of(round, said, replicas)

    def late_moments(self, known: _Moments) -> list[int]:
        """Check the moments of late rounds, in smaller samples, and return the rounds that there are."""
        rounds = [round for round in LATE_ROUNDS if self.last == FAR and known.marginal(round) is not None]
        for round in rounds:
            said = known.marginal(round)
            assert said is not None
            self._moments_of(round, said, HISTORIES)
        return rounds

    def _moments_of(self, round: int, said: Inclusion, replicas: int) -> None:
        counts = self.process.step(self.state(replicas), round)[0].double().numpy()
        span = max(1.0, counts.max())
        numbers = len(MOMENT_ROUNDS + LATE_ROUNDS) * (said.first.size + said.second.size)
        for order, found, expected in (
            ("first", counts.mean(0), said.first),
            ("second", counts.T @ counts / replicas, said.second),
        ):
            most = span if order == "first" else span**2
            # The variance of what lies in [0, most] is at most this.
            variance = np.diag(said.second) - expected**2 if order == "first" else expected * (most - expected)
            allowed = bernstein(np.maximum(variance, 0.0), most, replicas, numbers)
            wrong = np.abs(found - expected) > np.where(expected == 0, 1e-12, allowed)
            if wrong.any():
                which = tuple(np.argwhere(wrong)[0].tolist())
                raise check_errors.MomentsError(
                    f"{expected[which]:.6g} within {allowed[which]:.2g}",
                    found[which],
                    told=f"of {order} order in round {round}, client"
                    f"{'s' * (len(which) - 1)} {', '.join(map(str, which))}",
                )

    def repeats(self) -> int:
        """Check that each client's counts of any two of ``REPEATS`` are uncorrelated, and return how many there are."""
        rounds = [round for round in REPEATS if round <= self.last or self.last == FAR]
        first = np.stack([np.asarray(self.process.expected(self.clients, round), float) for round in rounds])
        state, drawn = self.state(HISTORIES), []
        for round in rounds:
            counts, state = self.process.step(state, round)
            drawn.append(counts.double().numpy())
        every = np.stack(drawn)
        span = max(1.0, float(every.max()))
        away = every - first[:, None]
        variance = np.maximum(span * first - first**2, 0.0)  # at the most, of counts from 0 to the span
        products = np.einsum("rmi,smi->irs", away, away, optimize=True) / HISTORIES
        allowed = bernstein(np.einsum("ri,si->irs", variance, variance), span**2, HISTORIES, products.size)
        wrong = (np.abs(products) > allowed) & ~np.eye(len(rounds), dtype=bool)
        for i, r, s in np.argwhere(wrong)[:1].tolist():
            raise check_errors.RoundCovarianceError(
                f"0 within {allowed[i, r, s]:.2g}",
                f"{products[i, r, s]:.4g}",
                told=f"of client {i}, rounds {rounds[r]} and {rounds[s]}",
            )
        return len(rounds)

    def covariances(self, known: _Moments) -> None:
        counts = self.drawn(HISTORIES).double().numpy()
        said = [known.marginal(round) for round in range(len(counts))]
        moments = [each for each in said if each is not None]
        span, counts = max(1.0, counts.max()), counts[: len(moments)]
        first = np.stack([each.first for each in moments])
        variance = np.maximum(np.stack([np.diag(each.second) for each in moments]) - first**2, 0.0)
        away = counts - first[:, None]
        numbers = (1 + LAGS) * self.clients**2
        halves = away[0, 0::2], away[0, 1::2]
        allowed = bernstein(np.outer(variance[0], variance[0]), span**2, len(halves[0]), numbers)
        _uncorrelated(
            check_errors.ReplicaCovarianceError, halves[0].T @ halves[1] / len(halves[0]), allowed, "replicas"
        )
        for lag in range(1, min(LAGS, len(counts) - 1) + 1):
            pairs = len(counts) - lag
            if self.process.independent_rounds:
                products = np.einsum("rmi,rmj->ij", away[:-lag], away[lag:]) / (pairs * HISTORIES)
                # Products of different rounds are uncorrelated, so the variance of a replica's mean is this.
                each = np.einsum("ri,rj->ij", variance[:-lag], variance[lag:]) / pairs**2
                allowed = bernstein(each, span**2, HISTORIES, numbers)
                _uncorrelated(check_errors.RoundCovarianceError, products, allowed, f"rounds at lag {lag}")
            elif hasattr(self.process, "twice"):
                together = np.asarray(self.process.twice(self.clients, lag), float)
                found = (counts[0] * counts[lag]).mean(0)
                allowed = bernstein(together * span**2, span**2, HISTORIES, numbers)
                _uncorrelated(
                    check_errors.RoundCovarianceError,
                    np.diag(found - together),
                    np.diag(allowed),
                    f"rounds at lag {lag}, beyond what twice says,",
                )

    def _equal(self, error: type[check_errors.PropertyError], expected: Tensor, found: Any, told: str = "") -> None:
        found = torch.as_tensor(found)
        if found.shape != expected.shape:
            raise error(tuple(expected.shape), tuple(found.shape), told=told or "by shape")
        if not torch.equal(expected, found):
            place = tuple(torch.argwhere(expected != found)[0].tolist())[:-1]
            shown = told or f"in round {place[0]}, replica {place[1]}"
            raise error(expected[place].tolist(), found[place].tolist(), told=shown)


def bernstein(variance: np.ndarray, span: float, samples: int, numbers: int) -> np.ndarray:
    """Return Bernstein's bound on the deviation of a mean of ``samples`` independent variables from its expectation.

    Each variable lies within ``span`` of its expectation. The bound holds for all of ``numbers`` means at once with
    probability 1 - LEVEL / GROUPS.

    >>> bernstein(np.array([0.25]), 1.0, 16_000, 100).round(3).tolist()
    [0.028]
    """
    spread = np.log(2 * numbers * GROUPS / LEVEL)
    return np.asarray(np.sqrt(2 * variance * spread / samples) + span * spread / (3 * samples) + 1e-12)


def _uncorrelated(error: type[check_errors.PropertyError], found: np.ndarray, allowed: np.ndarray, which: str) -> None:
    for i, j in np.argwhere(np.abs(found) > allowed)[:1].tolist():
        raise error(f"0 within {allowed[i, j]:.2g}", f"{found[i, j]:.4g}", told=f"of clients {i} and {j}, {which}")
