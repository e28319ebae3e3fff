"""The JSON files of LEAF: users, num_samples, and user_data with x and y of each user.

Source: S. Caldas and others, "LEAF: a benchmark for federated settings", 2018. Its preprocessing leaves ``train`` and
``test`` (or, before it splits, ``all_data``), each a folder of such files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...files import Damaged, read_json
from ..cache import Arrays
from ..dataset import Dataset
from ..entry import Entry
from .common import check_labels, read_once

SPLIT, WHOLE = ("train", "test"), ("all_data",)
FEMNIST = Entry(
    name="femnist",
    classes=62,
    samples=None,
    loader="leaf:femnist",
    source='S. Caldas and others, "LEAF: a benchmark for federated settings", 2018, of NIST Special Database 19',
    layouts=(SPLIT, WHOLE),
    inner=("data",),
    bare=False,
)
_SIDE, _CLASSES = 28, 62

Users = dict[str, tuple[list[Any], list[Any]]]


def femnist(test_share: float = 0.1) -> Dataset:
    """EMNIST by writer, as LEAF prepares it from NIST's files: grey images (1, 28, 28), 62 classes, ``clients`` the
    writers. There is nothing to download: run LEAF's ``data/femnist/preprocess.sh`` and name its folder.

    Labels: digits, upper case, lower case letters. Images are LEAF's: black on white, upright.

    Args:
        test_share: where only ``all_data`` is there, the share of each writer's samples, rounded down, that becomes
            test data: the last ones.

    Raises:
        FileNotFoundError: if no folder holds LEAF's folders.
        ValueError: if a file is damaged or holds something else; it names the file.

    >>> FEMNIST.classes
    62
    """
    folder, layout = FEMNIST.located()
    arrays, copy = load_users(FEMNIST, folder, layout, test_share, _images, {})
    names = tuple(str(name) for name in arrays["names"])

    def part(split: str, test: Dataset | None = None) -> Dataset:
        return Dataset(
            "femnist",
            arrays[f"{split}_x"],
            arrays[f"{split}_y"],
            _CLASSES,
            test,
            copy,
            clients=arrays[f"{split}_clients"],
            client_names=names,
        )

    return part("train", part("test"))


Parse = Callable[[Path, list[Any], list[Any]], tuple[np.ndarray, np.ndarray]]


def load_users(
    entry: Entry, folder: Path, layout: Sequence[str], test_share: float, parse: Parse, options: dict[str, Any]
) -> tuple[Arrays, str]:
    """Arrays train_x, train_y, train_clients, the same of test, and names (of the users), and the words on the copy.

    Users of ``train`` without a sample are left out. Users of ``test`` that ``train`` does not know, as where LEAF
    splits by user, are clients with test data alone.

    Args:
        entry, folder, layout: what to read, and where.
        test_share: see ``femnist``.
        parse: makes the arrays x and y of one user's lists; it gets the file, for its errors.
        options: what else decides the result, for the cache.
    """
    if not 0 < test_share < 1:
        raise ValueError(f"test_share = {test_share}: allowed is a number in (0, 1)")
    files = {part: sorted((folder / part).glob("*.json")) for part in layout}
    for part, paths in files.items():
        if not paths:
            raise Damaged(folder / part, "holds no .json file; allowed is at least one")
    everything = [path for paths in files.values() for path in paths]

    def parsed() -> Arrays:
        read = {part: _users(paths, parse) for part, paths in files.items()}
        train = read.get("train") or read["all_data"]
        test = read.get("test")
        if test is None:
            cut = {user: len(y) - int(test_share * len(y)) for user, (_, y) in train.items()}
            test = {user: (x[cut[user] :], y[cut[user] :]) for user, (x, y) in train.items()}
            train = {user: (x[: cut[user]], y[: cut[user]]) for user, (x, y) in train.items()}
        seen = {user: pair for user, pair in train.items() if len(pair[1])}
        return gathered(seen, {user: pair for user, pair in test.items() if user in seen or user not in train})

    options = {**options, "test_share": test_share, "layout": list(layout)}
    return read_once(entry, entry.name, folder, everything, options, parsed)


def gathered(train: dict[str, tuple[np.ndarray, np.ndarray]], test: dict[str, tuple[np.ndarray, np.ndarray]]) -> Arrays:
    """Gather the users' data, one after another: x, y and clients of both parts, and names.

    Users of ``train`` come first, in its order, then those that only ``test`` has.
    """
    if not train or not any(len(y) for _, y in test.values()):
        raise ValueError("no user has training data, or none has test data; allowed is at least one sample of each")
    order = {user: i for i, user in enumerate(train | test)}
    arrays: Arrays = {"names": np.array(list(order))}
    for part, users in (("train", train), ("test", {user: test[user] for user in order if user in test})):
        arrays[f"{part}_x"] = np.concatenate([x for x, _ in users.values()])
        arrays[f"{part}_y"] = np.concatenate([y for _, y in users.values()])
        arrays[f"{part}_clients"] = np.repeat([order[user] for user in users], [len(y) for _, y in users.values()])
    return arrays


def _users(paths: Sequence[Path], parse: Parse) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    users: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for path in paths:
        for user, (x, y) in read_users(path).items():
            if user in users:
                raise Damaged(path, f"user {user!r} is in another file too; allowed is one file for each user")
            users[user] = parse(path, x, y)
    return users


def read_users(path: Path) -> Users:
    """Read one of LEAF's files: (x, y) of each user, in the order of "users".

    Raises:
        ValueError: if it is no such file, or its three lists disagree.
    """
    content = read_json(path)
    if not {"users", "num_samples", "user_data"} <= content.keys():
        raise Damaged(path, f"has {', '.join(content)}; allowed are users, num_samples and user_data")
    users, counts, data = content["users"], content["num_samples"], content["user_data"]
    if not isinstance(users, list) or not isinstance(data, dict) or len(set(map(str, users))) != len(users):
        raise Damaged(path, "users and user_data; allowed are a list without repetition and an object")
    if set(map(str, users)) != data.keys() or not isinstance(counts, list) or len(counts) != len(users):
        raise Damaged(path, "users, num_samples and user_data differ in users; allowed are the same in all three")
    found: Users = {}
    for user, count in zip(map(str, users), counts, strict=True):
        pair = data[user]
        if not isinstance(pair, dict) or not all(isinstance(pair.get(each), list) for each in "xy"):
            raise Damaged(path, f"user {user!r}; allowed are two lists x and y")
        if not len(pair["x"]) == len(pair["y"]) == count:
            raise Damaged(
                path,
                f"user {user!r} has {len(pair['x'])} x, {len(pair['y'])} y, num_samples {count}; "
                "allowed are equal numbers",
            )
        found[user] = pair["x"], pair["y"]
    return found


def _images(path: Path, x: list[Any], y: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    try:
        grey = np.array(x, dtype=np.float64).reshape(len(x), -1 if x else _SIDE**2) * 255
        labels = np.array(y, dtype=np.int64) if all(type(label) is int for label in y) else None
    except (TypeError, ValueError):
        grey, labels = np.empty((0, 0)), None
    if labels is None or (len(x) and grey.shape[1] != _SIDE**2):
        raise Damaged(path, f"allowed are x of {_SIDE**2} numbers each, and whole numbers y")
    whole = np.rint(grey)
    if not (np.abs(grey - whole) < 1e-3).all() or (whole < 0).any() or (whole > 255).any():
        raise Damaged(path, "a grey value is not k/255; allowed are k = 0 to 255")
    check_labels(path, labels, _CLASSES)
    return whole.astype(np.uint8).reshape(len(x), 1, _SIDE, _SIDE), labels
