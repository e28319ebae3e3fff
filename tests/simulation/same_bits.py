"""Runs of every kind of federation as one script: a hash of all their bits, whatever the machine has to give.

python same_bits.py THREADS FREE    # torch's threads before the runs, bytes of memory that are said to be free
"""

import hashlib
import sys

import numpy as np
import torch

from fedtheory import Setting, algorithms, data, federations, participation
from fedtheory.simulation import Evaluation, memory_limits


def dense() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))


def convolutions() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Unflatten(1, (1, 8, 8)), torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU(),
                               torch.nn.Flatten(), torch.nn.Linear(288, 10))  # fmt: skip


def settings() -> list[Setting]:
    who, plain = participation.Bernoulli([0.3] * 10), algorithms.fedavg(local_lr="1/10", local_steps=2)
    split = data.Dirichlet(clients=10, alpha=0.3, test=0.2)
    nets = [federations.Network(make(), data.load("digits"), split, batch_size=16)
            for make in (lambda: torch.nn.Linear(64, 10), dense, convolutions)]  # fmt: skip
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((10, 60, 40))
    logistic = federations.Logistic(list(rows), list((rows[:, :, 0] > 0).astype(int)), 0.01)
    roots = rng.standard_normal((10, 30, 30)) / 30
    quadratic = federations.Quadratic(roots @ roots.transpose(0, 2, 1) + np.eye(30) / 4, rng.standard_normal((10, 30)),
                                      gradient_noise=0.5)  # fmt: skip
    return [Setting(fed, plain, who) for fed in (*nets, logistic, quadratic)]


def main(threads: int, free: int) -> str:
    torch.set_num_threads(threads)
    memory_limits._free = lambda: free
    content = hashlib.sha256()
    for setting in settings():
        watched = [Evaluation(every=4)] if isinstance(setting.federation, federations.Network) else None
        run = setting.simulate(replicas=2, rounds=8, record_every=4, seed=5, observers=watched, device="cpu")
        for name in sorted(run.rows):
            content.update(name.encode() + np.ascontiguousarray(run.rows[name]).tobytes())
        content.update(repr(sorted(run.where.items())).encode())
        assert torch.get_num_threads() == threads
    return content.hexdigest()


if __name__ == "__main__":
    print(main(int(sys.argv[1]), int(sys.argv[2])))
