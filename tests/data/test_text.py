"""Shakespeare and FEMNIST: plain text and LEAF's files that the tests make."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fedtheory import data
from fedtheory.data.loaders.shakespeare import LEAF_VOCABULARY

from .formats import leaf, tenths, write

PLAY = "ROMEO:\nabcdefgh\nij\n\nJULIET:\nABCDEFG\n\nNURSE:\n\nROMEO:\nklmnopqrs\n"
ROMEO = "abcdefgh\nij\nklmnopqrs"  # 21 characters: the last int(.2 * 21) = 4 are test text


def decoded(loaded: data.Dataset, rows: np.ndarray) -> list[str]:
    return ["".join(loaded.vocabulary[code] for code in np.atleast_1d(row)) for row in rows]


@pytest.fixture
def play(nowhere: Path) -> Path:
    return write(nowhere / "mine/shakespeare/input.txt", PLAY.encode())


def test_windows_are_of_one_role_and_do_not_reach_into_its_test_text(play: Path) -> None:
    loaded = data.shakespeare(window=3)
    assert loaded.client_names == ("ROMEO", "JULIET")  # the nurse says nothing
    texts = {"ROMEO": (ROMEO[:17], ROMEO[17:]), "JULIET": ("ABCDEF", "G")}
    for part, side in ((loaded, 0), (loaded.test, 1)):
        expected = [
            (text[i : i + 3], text[i + 3], client)
            for client, name in enumerate(loaded.client_names)
            for text in [texts[name][side]]
            for i in range(len(text) - 3)
        ]
        found = zip(decoded(loaded, part.features), decoded(loaded, part.labels), part.clients.tolist(), strict=True)
        assert list(found) == expected
    assert loaded.classes == 80 and loaded.vocabulary == LEAF_VOCABULARY and loaded.features.dtype == np.uint8


def test_every_character_as_a_target(play: Path) -> None:
    last, every = data.shakespeare(window=3), data.shakespeare(window=3, targets="every")
    np.testing.assert_array_equal(every.labels[:, -1], last.labels)
    np.testing.assert_array_equal(every.labels[:, :-1], last.features[:, 1:])


def test_strides_and_shares(play: Path) -> None:
    loaded = data.shakespeare(window=3, stride=4, test_share=0.5)
    # 11 characters of Romeo's 21 are training text: windows begin at 0 and 4; Juliet's 4 of 7 have one
    assert decoded(loaded, loaded.features) == ["abc", "efg", "ABC"]


def test_characters_outside_the_vocabulary(nowhere: Path) -> None:
    write(nowhere / "mine/shakespeare/input.txt", "ROMEO:\nabcd€efghijé\n".encode())
    loaded = data.shakespeare(window=2, test_share=0.5)
    assert decoded(loaded, loaded.features)[3] == "d " and loaded.copy.endswith("characters made spaces: 2")
    with pytest.raises(ValueError, match=r"input.txt: character '€'; allowed are"):
        data.shakespeare(window=2, unknown="refuse")
    with pytest.raises(ValueError, match="no user has training data, or none has test data"):
        data.shakespeare(window=80)


BAD_TEXT = {
    "within a line": (PLAY[:-2], "ends within a line; allowed is a complete file"),
    "empty": ("", "ends within a line"),
    "no name": (PLAY + "\nspoken by nobody\n", "line 13 begins with 'spoken by nobody'; allowed is 'NAME:'"),
    "two colons": ("A:B:\ntext\n", "begins with 'A:B:'"),
    "not text": ("\udcff:\n", "not UTF-8"),
}


@pytest.mark.parametrize("case", BAD_TEXT)
def test_plain_text_that_is_refused(play: Path, case: str) -> None:
    content, message = BAD_TEXT[case]
    play.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=message) as caught:
        data.shakespeare(window=3)
    assert str(play) in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [{"window": 0}, {"stride": 0}, {"targets": "some"}, {"test_share": 1}, {"vocabulary": "aa"}, {"unknown": "drop"}],
)
def test_shakespeare_refuses_arguments(change: dict) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(change))} = .*: allowed"):
        data.shakespeare(**change)
    with pytest.raises(ValueError, match="vocabulary has no space"):
        data.shakespeare(vocabulary="ab")


WINDOWS = {"HAMLET": (["abc", "bcd", "cde", "def"], ["d", "e", "f", "g"]), "OPHELIA": (["xyz"], ["!"])}


def test_leafs_own_split(nowhere: Path) -> None:
    write(nowhere / "mine/shakespeare/train/a.json", leaf(WINDOWS))
    write(nowhere / "mine/shakespeare/test/a.json", leaf({"OPHELIA": (["yz!"], ["?"])}))
    loaded = data.shakespeare(window=3)
    assert decoded(loaded, loaded.features) == ["abc", "bcd", "cde", "def", "xyz"]
    assert decoded(loaded, loaded.labels) == ["d", "e", "f", "g", "!"] and loaded.clients.tolist() == [0, 0, 0, 0, 1]
    assert decoded(loaded, loaded.test.features) == ["yz!"] and loaded.test.clients.tolist() == [1]
    with pytest.raises(ValueError, match="allowed is window = the files' own"):
        data.shakespeare(window=4)
    with pytest.raises(ValueError, match="stride = 2: allowed with LEAF's files is 1"):
        data.shakespeare(window=3, stride=2)


def test_all_data_is_split_at_the_end_of_each_role(nowhere: Path) -> None:
    write(nowhere / "mine/shakespeare/data/all_data/b.json", leaf({"OPHELIA": WINDOWS["OPHELIA"]}))
    write(nowhere / "mine/shakespeare/data/all_data/a.json", leaf({"HAMLET": WINDOWS["HAMLET"]}))
    loaded = data.shakespeare(window=3, test_share=0.3)  # int(.3 * 4) = 1 of Hamlet's windows, none of Ophelia's
    assert decoded(loaded, loaded.features) == ["abc", "bcd", "cde", "xyz"]
    assert decoded(loaded, loaded.test.features) == ["def"] and loaded.client_names == ("HAMLET", "OPHELIA")


def changed(**change: object) -> bytes:
    return json.dumps(json.loads(leaf(WINDOWS)) | change).encode()


BAD_LEAF = {
    "no users": (changed(users=["HAMLET"]), "users, num_samples and user_data differ in users"),
    "twice": (changed(users=["HAMLET", "HAMLET"]), "a list without repetition"),
    "counts": (changed(num_samples=[4, 2]), "'OPHELIA' has 1 x, 1 y, num_samples 2; allowed are equal numbers"),
    "too few counts": (changed(num_samples=[4]), "differ in users"),
    "other data": (changed(user_data={"HAMLET": 1, "OPHELIA": 2}), "'HAMLET'; allowed are two lists x and y"),
    "other keys": (b'{"users": []}', "has users; allowed are users, num_samples and user_data"),
    "an array": (b"[]", "holds a list, allowed is an object"),
    "characters": (leaf({"HAMLET": (["abc"], ["de"])}), "a y is no single character"),
    "numbers": (leaf({"HAMLET": ([1], ["d"])}), "an x is no text of 3 characters"),
}


@pytest.mark.parametrize("case", BAD_LEAF)
def test_leafs_files_that_are_refused(nowhere: Path, case: str) -> None:
    content, message = BAD_LEAF[case]
    path = write(nowhere / "mine/shakespeare/all_data/a.json", content)
    with pytest.raises(ValueError, match=message) as caught:
        data.shakespeare(window=3)
    assert str(path) in str(caught.value)


def test_truncated_and_doubled_files_of_leaf(nowhere: Path) -> None:
    path = write(nowhere / "mine/shakespeare/all_data/a.json", leaf(WINDOWS))
    good = path.read_bytes()
    for content in [*tenths(good), good[:-1], good + b"}"]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a\.json: not a JSON file"):
            data.shakespeare(window=3)
    path.write_bytes(good)
    write(path.with_name("b.json"), good)
    with pytest.raises(ValueError, match="user 'HAMLET' is in another file too"):
        data.shakespeare(window=3)


def test_femnist(nowhere: Path) -> None:
    grey = np.random.default_rng(0).integers(0, 256, (4, 784))
    users = {"f0001_01": ((grey[:3] / 255).tolist(), [0, 61, 35]), "f0002_02": ((grey[3:] / 255).tolist(), [1])}
    write(nowhere / "mine/femnist/train/a.json", leaf(users))
    write(nowhere / "mine/femnist/test/a.json", leaf({"f0002_02": ((grey[:1] / 255).tolist(), [7])}))
    loaded = data.femnist()
    np.testing.assert_array_equal(loaded.features.reshape(4, 784), grey)
    assert loaded.features.shape == (4, 1, 28, 28) and loaded.labels.tolist() == [0, 61, 35, 1]
    assert loaded.clients.tolist() == [0, 0, 0, 1] and loaded.test.clients.tolist() == [1]
    by_writer = data.ByClient().split(loaded)
    assert [part.tolist() for part in by_writer.train] == [[0, 1, 2], [3]]
    assert [part.tolist() for part in by_writer.test] == [[], [0]]


BLANK = [1.0] * 784
BAD_FEMNIST = {
    "label": ((BLANK, 62), "label 62 of sample 0; allowed is 0 to 61"),
    "fraction": ((BLANK, 1.5), "whole numbers y"),
    "boolean": ((BLANK, True), "whole numbers y"),
    "pixels": (([1.0] * 783, 1), "x of 784 numbers each"),
    "grey": (([0.5001] + [1.0] * 783, 1), "a grey value is not k/255"),
    "white": (([2.0] + [1.0] * 783, 1), "allowed are k = 0 to 255"),
    "text": (("a" * 784, 1), "x of 784 numbers each"),
}


@pytest.mark.parametrize("case", BAD_FEMNIST)
def test_femnist_refuses(nowhere: Path, case: str) -> None:
    (x, y), message = BAD_FEMNIST[case]
    write(nowhere / "mine/femnist/train/a.json", leaf({"f0001_01": ([x], [y])}))
    write(nowhere / "mine/femnist/test/a.json", leaf({"f0001_01": ([BLANK], [1])}))
    with pytest.raises(ValueError, match=message) as caught:
        data.femnist()
    assert "a.json" in str(caught.value)


def test_users_of_the_test_part_alone_are_clients_without_training_data(nowhere: Path) -> None:
    """LEAF splits by user too: ``-t user``. Who has no sample in ``train``, though it is listed there, is left out."""
    write(
        nowhere / "mine/femnist/train/a.json", leaf({"one": ([BLANK], [1]), "none": ([], []), "more": ([BLANK], [2])})
    )
    write(nowhere / "mine/femnist/test/a.json", leaf({"two": ([BLANK] * 2, [3, 4]), "none": ([BLANK], [5])}))
    found = data.femnist()
    assert found.client_names == ("one", "more", "two") and found.clients.tolist() == [0, 1]
    assert found.test.clients.tolist() == [2, 2] and found.test.labels.tolist() == [3, 4]
    parts = data.ByClient().split(found)
    assert parts.sizes.tolist() == [1, 1] and [len(part) for part in parts.test] == [0, 0]


def test_a_split_without_files_is_refused(nowhere: Path) -> None:
    write(nowhere / "mine/femnist/train/a.json", leaf({"one": ([BLANK], [1])}))
    write(nowhere / "mine/femnist/test/a.json", leaf({"two": ([BLANK], [1])}))
    (nowhere / "mine/femnist/test/a.json").unlink()
    with pytest.raises(ValueError, match=r"holds no \.json file; allowed is at least one"):
        data.femnist()
    with pytest.raises(ValueError, match="test_share = 0: allowed"):
        data.femnist(test_share=0)
