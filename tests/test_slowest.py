"""The list of slow tests: of tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

from tests import slowest

ROOT = Path(__file__).parents[1]


def test_every_listed_test_is_there():
    names = slowest.LIST.read_text(encoding="utf-8").splitlines()
    assert names == sorted(set(names)) and len(names) > 100
    gone = []
    for name in names:
        where, _, test = name.partition("::")
        path = ROOT / (where.replace(".", "/") + ".py")
        function = re.escape(test.partition("[")[0].rpartition(".")[2])
        if not path.is_file() or not re.search(rf"\b(def|class) {function}\b", path.read_text(encoding="utf-8")):
            gone.append(name)
    assert gone == []
