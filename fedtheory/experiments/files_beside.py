"""Files beside an experiment file that it names: Python files whose kinds it uses (``kind = "mine.py:Net"``), models.

A Python file is EXECUTED, once in a process, and known by the sha256 of its bytes: what is hashed is what runs. Only a
file below the experiment file's folder can be named, by a relative path without links, and of it only what it defines
itself. So whoever can write the experiment file alone runs nothing but what stands beside it under that name.

Modules that such a file imports from its own folder are parts of it: they are executed from the bytes that are hashed,
and a run is known by their hashes too. What it imports from below the experiment file's folder in any other way, such
as a package, has no hash, and is refused by name. Data that it reads are not hashed.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import hashlib
import inspect
import random
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ..files import Damaged, read_file
from ..quantities import nearest

MARK = ":"
"""Mark of a kind of a Python file; names of built-in ones have none."""
PARTS = {"model": "a model", "dataset": "a data set", "algorithm": "an algorithm", "process": "a participation process"}
"""Families of which a Python file can define kinds, in words."""
WHERE = ("federation", "algorithm", "participation")
"""Tables of an experiment file in which such kinds stand."""
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}"
_KIND = re.compile(rf"((?:{_NAME}/)*{_NAME}\.py):([A-Za-z][A-Za-z0-9_]{{0,99}})")
_MODEL = re.compile(rf"(?:{_NAME}/)*{_NAME}\.(?:npz|safetensors)")
_PLACE = re.compile(r" at 0x[0-9a-fA-F]+")
_BELOW = (
    "below the experiment file's folder, by a relative path of letters, digits and _ . + -, no part of which begins "
    "with . + or -"
)
_MODULE = "fedtheory_python_"
_RUN: dict[tuple[object, ...], ModuleType] = {}
"""Files that were executed, by place and the hashes of all that they consist of."""
_FEDTHEORY = Path(__file__).parents[1]
_INSTALLED = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
"""Folders of what is installed, which may lie below an experiment file's."""


def named(kind: Any) -> tuple[str, str] | None:
    """The file and the name in it of a kind such as ``mine.py:Net``; ``None`` for one without a colon.

    Raises:
        ValueError: its file is no relative path of a Python file below the folder, or the name none of Python.

    >>> named("parts/mine.py:Net"), named("small_cnn")
    (('parts/mine.py', 'Net'), None)
    >>> named("../mine.py:Net")
    Traceback (most recent call last):
    ValueError: kind '../mine.py:Net': allowed is FILE.py:NAME, the name of what a file defines below the experiment \
file's folder, by a relative path of letters, digits and _ . + -, no part of which begins with . + or -
    """
    if not isinstance(kind, str) or MARK not in kind:
        return None
    match = _KIND.fullmatch(kind)
    if match is None:
        raise ValueError(f"kind {kind[:200]!r}: allowed is FILE.py:NAME, the name of what a file defines {_BELOW}")
    return match[1], match[2]


def check_family(family: str, kind: Any) -> bool:
    """Whether a kind is one of a Python file.

    Raises:
        ValueError: it is, and no kind of this family can be; or see ``named``.
    """
    if named(kind) is None:
        return False
    if family not in PARTS:
        raise ValueError(f"kind {kind!r} of a {family}: a Python file may define {', '.join(PARTS.values())}")
    return True


def files_in(content: Mapping[str, Any]) -> list[str]:
    """The Python files, and the file of the model to start from, that one setting's content names, sorted.

    >>> files_in({"algorithm": {"kind": "fedavg"}, "federation": {"kind": "Network", "model": "mine.py:Net"}})
    ['mine.py']
    """
    found: set[str] = {content["start"]} if is_model(content.get("start")) else set()
    waiting = [content.get(part) for part in WHERE]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and _KIND.fullmatch(value):
            found.add(value.partition(MARK)[0])
        elif isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return sorted(found)


def is_model(start: Any) -> bool:
    """Whether a start names a file of a model.

    Raises:
        ValueError: it does, by no relative path below the folder.

    >>> is_model("trained.npz"), is_model("1/2")
    (True, False)
    """
    if not isinstance(start, str) or not start.endswith((".npz", ".safetensors")):
        return False
    if not _MODEL.fullmatch(start):
        raise ValueError(f"start = {start[:200]!r}: allowed is a model's file {_BELOW}")
    return True


def read_beside(folder: Path, file: str) -> bytes:
    """The bytes of a file below a folder, on a way without links.

    Raises:
        ValueError: there is none, it is a link or lies behind one, or it is no regular file.
    """
    path = folder / file
    for place in (path, *path.parents)[: file.count("/") + 1]:
        if place.is_symlink():
            raise Damaged(place, "is a symbolic link: allowed is a file or folder itself")
    try:
        return read_file(path)
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file; what an experiment file names is looked for beside it") from None


def hashes(folder: Path, content: Mapping[str, Any]) -> dict[str, str]:
    """The sha256 of each file that a setting's content names, and of the modules beside it; none of them is executed.

    Raises:
        ValueError: see ``read_beside``.
    """
    return _digests(with_imports(folder, files_in(content)))


def _digests(contents: Mapping[str, bytes]) -> dict[str, str]:
    return {file: hashlib.sha256(content).hexdigest() for file, content in sorted(contents.items())}


def with_imports(folder: Path, files: Iterable[str]) -> dict[str, bytes]:
    """The bytes of files below a folder, and of the modules that Python files of them import from their own folders,
    directly or not.

    Raises:
        ValueError: see ``read_beside``.
    """
    found: dict[str, bytes] = {}
    waiting = list(files)
    while waiting:
        file = waiting.pop()
        if file not in found:
            found[file] = read_beside(folder, file)
            if file.endswith(".py"):
                waiting += [each for name in _imported(found[file]) if (each := _module_beside(folder, file, name))]
    return found


def _imported(content: bytes) -> set[str]:
    """The names before the first dot of what a file imports, wherever in it; none of one that cannot be read."""
    try:
        nodes = list(ast.walk(ast.parse(content)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # executing it says so
        return set()
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    of = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.partition(".")[0] for name in (*plain, *of)}


def _module_beside(folder: Path, file: str, name: str) -> str | None:
    """The file, below a folder, that is the module of this name in the folder of another file; ``None`` for none."""
    found = f"{file.rpartition('/')[0]}/{name}.py".lstrip("/")
    return found if name.isidentifier() and (folder / found).exists() else None


def told(there: Mapping[str, str], here: Mapping[str, str]) -> str:
    """Say in words which files two records have different.

    >>> told({"mine.py": "0" * 64}, {"mine.py": "1" * 64})
    'mine.py has another content: sha256 000000000000... there, 111111111111... here'
    """
    said = []
    for file in sorted({*there, *here}):
        a, b = (str(each.get(file, "none"))[:12] + "..." * (file in each) for each in (there, here))
        if there.get(file) != here.get(file):
            said.append(f"{file} has another content: sha256 {a} there, {b} here")
    return "; ".join(said)


def nobody(line: str) -> None:
    """Tell nobody of a file that is executed."""


@dataclass
class FilesBeside:
    """The files beside one experiment file.

    Attributes:
        folder: that of the experiment file.
        code: the sha256 that each file has to have; ``None``: whatever it has.
        tell: called with a line about each file before it is executed for the first time.
    """

    folder: Path
    code: Mapping[str, str] | None = None
    tell: Callable[[str], None] = nobody
    _told: set[str] = field(default_factory=set)

    def kind(self, family: str, kind: str) -> Callable[..., Any]:
        """Return what a file defines under a kind's name: a function or a class. Of a part of the family itself, a
        function without arguments that returns it.

        Raises:
            ValueError: the file is not there, was changed, or fails; or it defines nothing of that name.
        """
        file, name = named(kind) or ("", "")
        module = self._module(file)
        found: Any = vars(module).get(name)
        own = [each for each, value in vars(module).items() if _defined(module, value)]
        if name not in vars(module):
            raise ValueError(f"{file} defines no {name!r}; {nearest(name, own) if own else 'it defines nothing'}")
        if not _fits(family, found) and not (callable(found) and _defined(module, found)):
            what = f"is {type(found).__name__}" if not callable(found) else f"comes from {_module_of(found)}"
            raise ValueError(
                f"{file}: {name} {what}: allowed is {PARTS[family]}, or a function or class that the file defines"
            )
        if not _fits(family, found):
            return found  # type: ignore[no-any-return]
        return lambda: found

    def made(self, family: str, kind: str, make: Callable[[], Any]) -> Any:
        """Return what ``make`` does, if it is a part of this family. Draws in it have the same seed every time.

        Raises:
            ValueError: it fails, which is told with the line, or returns something else.
        """
        file, name = named(kind) or ("", "")
        with _seeded():
            try:
                found = make()
            except Exception as error:
                raise ValueError(self.explained(error) or f"{file}: {name} refuses its keys: {_said(error)}") from None
        if not _fits(family, found):
            raise ValueError(f"{kind} gives {type(found).__name__}: allowed is {PARTS[family]}")
        if family in ("algorithm", "process"):
            _check_repr(kind, found)
        return found

    def explained(self, error: BaseException) -> str | None:
        """The error with the last line of a Python file that it passed through; ``None`` if it passed through none."""
        known = {str(self.folder / file): file for file in self._told}
        frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename in known]
        return f"{known[frames[-1].filename]}, line {frames[-1].lineno}: {_said(error)}" if frames else None

    def start(self, file: str, federation: Any) -> Any:
        """The numbers of a model's file, (D,) of a network's model.

        Raises:
            ValueError: the federation is no network, or the file is damaged or of another architecture.
        """
        model = getattr(federation, "model", None)
        if model is None:
            raise ValueError(f"start = {file!r}: allowed is a number, {type(federation).__name__} has no network")
        from ..neural import load_model

        self._read([file])
        return model.flattened(load_model(self.folder / file, model.copied()))

    def _read(self, files: Iterable[str]) -> tuple[dict[str, bytes], dict[str, str]]:
        """The bytes of files and of what they import beside them, and their hashes."""
        contents = with_imports(self.folder, files)
        digests = _digests(contents)
        if self.code is not None and any(self.code.get(file) != digest for file, digest in digests.items()):
            raise ValueError(f"{told(self.code, {**self.code, **digests})}; it was changed while the file was run")
        return contents, digests

    def _module(self, file: str) -> ModuleType:
        contents, digests = self._read([file])
        for each in sorted(digests.keys() - self._told):
            self._told.add(each)
            self.tell(f"executes {self.folder / each} (sha256 {digests[each]})")
        key = (str(self.folder / file), *sorted(digests.items()))
        if key not in _RUN:
            _RUN[key] = _Execution(self.folder, contents, digests).module(file)
        return _RUN[key]


class _Execution:
    """A file that is executed, and the modules beside it, each once: of these bytes alone.

    Their import statements ask here first, also those of functions that are called later.
    """

    def __init__(self, folder: Path, contents: Mapping[str, bytes], digests: Mapping[str, str]) -> None:
        self.folder, self.contents = folder, contents
        self.name = hashlib.sha256(repr((str(folder.absolute()), sorted(digests.items()))).encode()).hexdigest()[:16]
        self.modules: dict[str, ModuleType] = {}

    def module(self, file: str) -> ModuleType:
        """The module of a file, executed unless it was; dataclasses, among others, look for it in ``sys.modules``."""
        if file in self.modules:
            return self.modules[file]
        path = self.folder / file
        name = f"{_MODULE}{path.stem}_{hashlib.sha256(file.encode()).hexdigest()[:8]}_{self.name}"
        module = ModuleType(name)
        module.__file__ = str(path)
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": self._importer(file)}
        before = sys.modules.keys() | {name}
        sys.modules[name] = self.modules[file] = module
        try:
            with _seeded():
                exec(compile(self.contents[file], str(path), "exec", dont_inherit=True), vars(module))
            for other in sys.modules.keys() - before:
                if not other.startswith(_MODULE) and self._is_below(sys.modules[other]):
                    raise self._unknown(file, other)
        except (Exception, SystemExit) as error:
            del sys.modules[name], self.modules[file]
            if isinstance(error, Damaged):  # another file, which is named
                raise
            frames = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == str(path)]
            line = error.lineno if isinstance(error, SyntaxError) else frames[-1] if frames else None
            raise Damaged(file, _said(error), f"line {line}" if line else "") from None
        return module

    def _importer(self, file: str) -> Callable[..., Any]:
        def imported(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
            first, dot, _ = name.partition(".")
            if level:
                raise ImportError(f"a relative import: allowed is the name of a module beside {file}, without dots")
            beside = _module_beside(self.folder, file, first)
            if beside in self.contents and beside is not None:
                if dot:
                    raise ModuleNotFoundError(f"No module named {name!r}; {beside} is a file", name=name)
                return self.module(beside)
            found = builtins.__import__(name, globals, locals, fromlist, level)
            if beside is not None or self._is_below(sys.modules.get(first)):
                raise self._unknown(file, first)
            return found

        return imported

    def _unknown(self, file: str, name: str) -> ImportError:
        return ImportError(
            f"{name} lies below {self.folder} and is known by no hash: allowed is a module beside {file}, by an import "
            "statement, or an installed package"
        )

    def _is_below(self, module: ModuleType | None) -> bool:
        """Whether a module lies below the folder without being installed."""
        places = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
        folder = self.folder.absolute().resolve()
        for place in (Path(each).resolve() for each in places if isinstance(each, str) and each):
            if place.is_relative_to(folder) and not any(map(place.is_relative_to, [_FEDTHEORY, *_INSTALLED])):
                return True
        return False


def _said(error: BaseException) -> str:
    text = str(error.msg if isinstance(error, SyntaxError) else error)
    return f"{type(error).__name__}: {' '.join(text.split())[:1000]}"


def _module_of(value: Any) -> str:
    return str(getattr(value, "__module__", None) or type(value).__module__)


def is_of_file(value: Any) -> bool:
    """Whether a Python file beside an experiment file defines a value."""
    return _module_of(value).startswith(_MODULE)


def _defined(module: ModuleType, value: Any) -> bool:
    """Whether a module defines this value itself, and does not import it."""
    return callable(value) and getattr(value, "__module__", None) == module.__name__


def _fits(family: str, value: Any) -> bool:
    """Whether a value is a part of this family."""
    if inspect.isclass(value):
        return False
    if family == "model":
        from torch import nn

        from ..neural import FlatModel

        return isinstance(value, nn.Module | FlatModel)
    if family == "dataset":
        from ..data import Dataset

        return isinstance(value, Dataset)
    if family == "algorithm":
        from ..algorithms import Algorithm

        return isinstance(value, Algorithm)
    return hasattr(value, "on") or all(hasattr(value, name) for name in ("step", "init", "check"))


def _told_by_attributes(self: Any) -> str:
    return f"{type(self).__qualname__}({vars(self)!r})"


def _check_repr(kind: str, made: Any) -> None:
    """See that a part's ``repr``, by which runs are known again, tells what it holds; a plain class gets such a one.

    Raises:
        ValueError: it names a place in memory, which is another one in the next process.
    """
    if type(made).__repr__ is object.__repr__:
        type(made).__repr__ = _told_by_attributes  # type: ignore[assignment]
    if _PLACE.search(repr(made)):
        raise ValueError(
            f"{kind}: its repr has a place in memory, by which no run is known again: allowed is a dataclass, or a "
            "__repr__ that tells what it holds"
        )


@contextlib.contextmanager
def _seeded() -> Iterator[None]:
    """Seed the draws of Python, numpy and torch with 0 meanwhile; afterwards they are as they were."""
    import torch

    before = random.getstate(), np.random.get_state(), torch.random.get_rng_state()
    random.seed(0)
    np.random.seed(0)
    torch.random.default_generator.manual_seed(0)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
        torch.random.set_rng_state(before[2])
