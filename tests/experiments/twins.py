"""Two processes run the units of two files in one store at the same time. Arguments: two files, a store."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fedtheory.experiments.schema import read_experiment
from fedtheory.experiments.units import perform, units_of


def main() -> None:
    children = []
    for file in sys.argv[1:3]:
        pid = os.fork()
        if pid == 0:
            experiment = read_experiment(file)
            for unit in units_of(experiment, experiment.points(), Path(sys.argv[3])):
                perform(unit)
            os._exit(0)
        children.append(pid)
    sys.exit(any(os.waitpid(pid, 0)[1] for pid in children))


if __name__ == "__main__":
    main()
