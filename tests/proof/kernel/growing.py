"""The stand-alone checker on one file that grows: what it has accepted is not read or checked again."""

from __future__ import annotations

import json

from fedtheory.proof import checker
from fedtheory.proof.kernel.regions import Where
from fedtheory.proof.kernel.saved_theorems import line, region, saved
from fedtheory.proof.kernel.sealed import ancestry
from fedtheory.proof.kernel.theorems import Theorem


class Growing(checker.Proof):
    """A saved proof, checked, to which theorems are added: each is a line of the file after those that it is made of,
    and is accepted as the checker accepts a line, with every sign decided at once."""

    def __init__(self, theorem: Theorem) -> None:
        data = json.loads(json.dumps(saved(theorem)))
        super().__init__(data)
        self.signs.clear()
        self.count = 10**9  # any premise that is there
        self._places = {json.dumps(region): i for i, region in enumerate(data["regions"])}
        self._regions: dict[Where, int] = {}
        self._numbers = {json.dumps(line): i for i, line in enumerate(data["theorems"])}
        self._known = {id(one): i for i, one in enumerate(ancestry(theorem))}
        self._base = theorem  # its theorems live as long as their numbers

    def rejects(self, theorems: list[Theorem]) -> str:
        """Why one of them, or what they are made of, is not accepted; or nothing."""
        known = dict(self._known)
        try:
            for one in (t for theorem in theorems for t in ancestry(theorem)):
                if id(one) not in known:
                    known[id(one)] = self._added(one, [known[id(p)] for p in one.premises])
        except (checker.Wrong, *checker.UNREADABLE) as error:
            return repr(error)
        return ""

    def accepts_line(self, line: dict) -> bool:
        """Whether a line that comes after those there are now is accepted; it is not added."""
        self.count = len(self.theorems) + 1
        try:
            self._checked(line)
        except (checker.Wrong, *checker.UNREADABLE):
            return False
        return True

    def _checked(self, line: dict) -> dict:
        checker.LEFT["work"] = checker.LARGEST["work"]
        checker.let_go()
        self.signs.clear(), self.inside.clear()  # what is noted of a region inside another one is noted once
        self.kept = 0
        found = checker.checked(self, line)
        for _, scalar, where, why in self.signs:
            checker.need(self._nonnegative(scalar, where), why)
        return found

    def _added(self, one: Theorem, premises: list[int]) -> int:
        text = json.dumps(line(one, premises, self._region(one.where)))
        if text not in self._numbers:
            found = self._checked(json.loads(text))
            self._numbers[text] = len(self.theorems)
            self.theorems.append(found)
        return self._numbers[text]

    def _region(self, where: Where) -> int:
        if where not in self._regions:
            text = json.dumps(region(where))
            if text not in self._places:
                self._places[text] = len(self.regions)
                read = json.loads(text)
                self.regions.append(self.region(read))
            self._regions[where] = self._places[text]
        return self._regions[where]
