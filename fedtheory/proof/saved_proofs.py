"""Reading of saved proofs and certificates of worst cases from files. Each is given to the checker that stands
alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..files import Damaged, read_file
from . import checker

WORK_BY_SIZE = 10
"""The work that the proofs of one file may take together, for each byte, beside that of the largest proof."""


class Unreadable(ValueError):
    """Error of a file that cannot be read, has no proof of the kernel, or has one that is not written as such."""


class Checked(NamedTuple):
    """Proof of a file, checked. It has the proof's name, the number of its theorems, the statement of the last one,
    and what of it was checked and what was not. It also has the claim that the file names, which is not checked, or the
    claim that is proved, with all that it says."""

    proof: str
    theorems: int
    says: str
    checked: str
    not_checked: str
    claim_in_file: str = ""
    claim: Mapping[str, Any] | None = None

    def compared(self) -> Checked:
        """Return the same, where what is proved was compared with the claim of this name."""
        rest = self.not_checked.replace(f"{checker.OF_NAME}; ", "")
        return self._replace(checked=f"{self.checked}; {checker.OF_NAME}", not_checked=rest)

    @property
    def text(self) -> str:
        """Return all of it as text for people."""
        of = self.claim_in_file
        about = f"; the file says that it is of {of}, which is not checked here" if of else ""
        count = f"{self.theorems} theorem{'s' * (self.theorems > 1)}, all checked{about}"
        return f"{self.proof}: {count}\n{self.says}\nchecked: {self.checked}\nnot checked: {self.not_checked}"


def checked_in(file: Path) -> list[Checked]:
    """Check all of a file's proofs. A file is a saved theorem, the chain of a claim with such theorems among its
    evidence, or a certificate of a worst case.

    Raises:
        Unreadable: the file cannot be read, is too large or too deeply nested, or has no proof of the kernel.
        ValueError: one of its proofs is none; the message says which, at which theorem, and why.
    """
    found, content = [], _read(file)
    claim = content.get("claim") if isinstance(content, dict) else None
    named = repr(claim)[1:-1][:100] if isinstance(claim, str) else ""
    left = checker.LARGEST["work"] + WORK_BY_SIZE * file.stat().st_size
    for name, data in _proofs(content):
        certificate = checker.is_certificate(data)
        what = "worst case" if name == "theorem" and certificate else repr(name)[1:-1][:200]
        most = min(left, checker.LARGEST["certificate" if certificate else "work"])
        try:
            told, own = checker.told(data, most), data.get("claim")
            found.append(Checked(what, *told, *((named, None) if own is None else ("", own))))
        except checker.Unfit as wrong:
            raise Unreadable(f"{file}: cannot be read: {what}: {wrong}") from None
        except checker.Wrong as wrong:
            raise ValueError(f"{file}: {what}: no proof: {wrong}") from None
        left -= most - checker.LEFT["work"]
    if not found:
        raise Unreadable(f"{file}: cannot be read: no proof of the kernel in it")
    return found


def check_file(file: Path) -> dict[str, int]:
    """Check a file and return the number of theorems of each of its proofs: see ``checked_in``."""
    return {each.proof: each.theorems for each in checked_in(file)}


def _read(file: Path) -> Any:
    try:
        content = read_file(file, checker.LARGEST["file"])
    except FileNotFoundError:
        raise Unreadable(f"{file}: cannot be read: no such file") from None
    except Damaged as error:
        raise Unreadable(str(error)) from None
    try:
        return checker.read(content)
    except ValueError as error:
        raise Unreadable(f"{file}: cannot be read: {error}") from None


def _proofs(data: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(data, dict) or "steps" not in data:
        yield "theorem", data
        return
    steps = data["steps"] if isinstance(data["steps"], list) else []
    for step in (s for s in steps if isinstance(s, dict)):
        yield from ((str(step.get("name")), found) for found in _texts(step))


def _texts(data: Any) -> Iterator[Any]:
    """The evidence that is the text of a saved theorem; a step is nested only so deep as JSON was read."""
    waiting = [data]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict) and here.get("type") == "text" and isinstance(here.get("data"), str):
            try:
                found = checker.read(here["data"])
            except ValueError:
                continue  # a point
            if isinstance(found, dict):
                yield found
        elif isinstance(here, dict | list):
            waiting += here.values() if isinstance(here, dict) else here
