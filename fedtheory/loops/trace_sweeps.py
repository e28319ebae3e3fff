"""Sweeps backwards over a trace of who took part: how much each client's minimiser and noise count in the last model.

A round is linear in the state, so the last model x_R is too. Backwards, a sweep carries the derivative of x_R by the
model of each round, a number for each of many step sizes at once, and touches each participation once: no vector over
clients is moved along. See ``diagnosis.trace_errors`` for what the numbers mean.
"""

from __future__ import annotations

import numpy as np

from .compiler import compiled


@compiled
def weighted_sweep(
    first: np.ndarray,
    client: np.ndarray,
    weight: np.ndarray,
    everyone: np.ndarray,
    squares: np.ndarray,
    spread: np.ndarray,
    gain: np.ndarray,
    global_lr: float,
    clients: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sweep over x_{r+1} = x_r + g sum_i w_i delta_i, delta_i = -b (x_r - c_i) + noise, with weights that are known.

    Of round r, ``first``[r] to ``first``[r + 1] are the entries, each a ``client`` with the mean of its ``weight``;
    ``everyone`` (R,) is added to the mean weight of all clients, ``squares`` (R,) is E[sum_i w_i^2], and ``spread``
    (R,) the variance of sum_i w_i e_i, e_i orthonormal. ``gain`` (S,) is b for each step size.

    Returns:
        the derivatives by the start (S,), those by each c_i (clients, S); the sum over rounds of those by noise,
        squared and times ``squares`` (S,), and of those by sum_i w_i c_i, squared and times ``spread`` (S,).
    """
    sizes, rounds = len(gain), len(first) - 1
    ahead, noise, drawn, alike = np.ones(sizes), np.zeros(sizes), np.zeros(sizes), np.zeros(sizes)
    centre, by_centre = np.zeros((clients, sizes)), np.empty(sizes)
    for r in range(rounds - 1, -1, -1):
        total = clients * everyone[r]
        for p in range(first[r], first[r + 1]):
            total += weight[p]
        for s in range(sizes):
            step = global_lr * ahead[s]
            noise[s] += step * step * squares[r]
            by_centre[s] = step * gain[s]
            drawn[s] += by_centre[s] * by_centre[s] * spread[r]
            alike[s] += by_centre[s] * everyone[r]
            ahead[s] -= by_centre[s] * total
        for p in range(first[r], first[r + 1]):
            i, w = client[p], weight[p]
            for s in range(sizes):
                centre[i, s] += w * by_centre[s]
    for i in range(clients):
        for s in range(sizes):
            centre[i, s] += alike[s]
    return ahead, centre, noise, drawn


@compiled
def latest_sweep(
    first: np.ndarray,
    client: np.ndarray,
    again: np.ndarray,
    corrected: bool,
    when_empty: bool,
    gain: np.ndarray,
    global_lr: float,
    clients: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sweep over rules that remember every client's latest update y_i, as ``weighted_sweep`` does over others.

    With n participants in S, x_{r+1} = x_r + (g/N) sum_j y_j, participants' y_j being new (MIFA); or, if
    ``corrected``, x_{r+1} = x_r + g ((1/N) sum_j y_j + (1/n) sum_{i in S} (delta_i - y_i)) with the old y (FedVarp).

    Args:
        again: of each entry, the round in which its client takes part next; R if in none.
        when_empty: whether a round without participants moves the model.
    """
    sizes, rounds = len(gain), len(first) - 1
    ahead, noise = np.ones((rounds + 1, sizes)), np.zeros(sizes)
    summed, centre = np.zeros((rounds + 1, sizes)), np.zeros((clients, sizes))
    share = global_lr / clients
    total = np.empty(sizes)
    for r in range(rounds - 1, -1, -1):
        here = first[r + 1] - first[r]
        moves = here > 0 or when_empty
        for s in range(sizes):
            ahead[r, s] = ahead[r + 1, s]
            summed[r, s] = summed[r + 1, s] + (ahead[r + 1, s] if moves else 0.0)
            total[s] = 0.0
        for p in range(first[r], first[r + 1]):
            i, later = client[p], again[p]
            own, taken = 0.0, 0.0
            if corrected:
                own = global_lr / here
                if later < rounds:
                    taken = share - global_lr / (first[later + 1] - first[later])
            begin = r + 1 if corrected else r
            after = min(later + 1, rounds)
            for s in range(sizes):
                found = own * ahead[r + 1, s] + share * (summed[begin, s] - summed[later, s]) + taken * ahead[after, s]
                noise[s] += found * found
                total[s] += found
                centre[i, s] += found * gain[s]
        for s in range(sizes):
            ahead[r, s] -= gain[s] * total[s]
    return ahead[0], centre, noise, np.zeros(sizes)


@compiled
def answering_sweep(
    first: np.ndarray,
    client: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    fair: np.ndarray,
    gain: np.ndarray,
    global_lr: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sweep forwards over x_{r+1} = x_r + g sum_i w_i delta_i where clients answer independently of each other, so that
    the sum of the weights is random: w_i has this ``mean`` and ``variance``, of each entry.

    With W = sum_i w_i, the mean of x_r has the factor 1 - g b E W, and its second moment
    e = (1 - g b E W)^2 + g^2 b^2 Var W. So has the variance V_r of x_r about its mean q_r, to which a round adds
    g^2 b^2 sum_i Var(w_i) |q_r - c_i|^2: nothing cancels.

    Returns:
        as ``weighted_sweep``, the first being the root of the mean square.
    """
    sizes, rounds, clients = len(gain), len(first) - 1, len(fair)
    start, noise, drawn = np.ones(sizes), np.zeros(sizes), np.zeros(sizes)
    centre = np.zeros((clients, sizes))
    total, weighed, squared = np.zeros(sizes), np.zeros(sizes), np.zeros(sizes)
    norm = 0.0
    for i in range(clients):
        norm += fair[i] * fair[i]
    for r in range(rounds):
        if first[r] == first[r + 1]:
            continue
        moved, spread, both = 0.0, 0.0, 0.0
        for p in range(first[r], first[r + 1]):
            moved += mean[p]
            spread += variance[p]
            both += variance[p] + mean[p] * mean[p]
        for s in range(sizes):
            total[s], weighed[s], squared[s] = 0.0, 0.0, 0.0
        for i in range(clients):
            for s in range(sizes):
                total[s] += centre[i, s]
                weighed[s] += fair[i] * centre[i, s]
                squared[s] += centre[i, s] * centre[i, s]
        for s in range(sizes):
            step = global_lr * gain[s]
            factor = (1 - step * moved) * (1 - step * moved) + step * step * spread
            start[s] *= factor
            noise[s] = factor * noise[s] + global_lr * global_lr * both
            drawn[s] *= factor
        for p in range(first[r], first[r + 1]):
            i = client[p]
            for s in range(sizes):
                step = global_lr * gain[s]
                # |q|^2 - 2 q . c_i + |c_i|^2 with q = sum_k centre_k c_k and c_k = e_k - sum_l f_l e_l.
                inner = centre[i, s] - weighed[s] - total[s] * (fair[i] - norm)
                square = squared[s] - 2 * total[s] * weighed[s] + total[s] * total[s] * norm
                away = square - 2 * inner + 1 - 2 * fair[i] + norm
                drawn[s] += step * step * variance[p] * max(away, 0.0)
        for i in range(clients):
            for s in range(sizes):
                centre[i, s] *= 1 - global_lr * gain[s] * moved
        for p in range(first[r], first[r + 1]):
            for s in range(sizes):
                centre[client[p], s] += global_lr * gain[s] * mean[p]
    for s in range(sizes):
        start[s] = np.sqrt(start[s])
    return start, centre, noise, drawn
