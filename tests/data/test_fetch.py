"""Fetching: what is there is left alone, downloads are checked, resumed, and come whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fedtheory import data
from fedtheory.cli import app
from fedtheory.data import catalogue, fetch
from fedtheory.data.entry import Download
from fedtheory.data.loaders.mnist import FILES

from .formats import idx, tar_gz, write


def forbidden(*_: object, **__: object) -> None:
    pytest.fail("nothing is to be installed or downloaded")  # no Exception, so that nothing can swallow it


def contents() -> dict[str, bytes]:
    return {f"{name}.gz": gzip.compress(idx(np.zeros((2, 28, 28) if "images" in name else 2, np.uint8)), mtime=0)
            for name in FILES}  # fmt: skip


def md5(content: bytes) -> str:
    return f"md5:{hashlib.md5(content).hexdigest()}"


class Server:
    """Files over HTTP, with a record of what was asked; ``cut`` cuts the answer to the first request of a file short,
    ``ranges`` says whether parts are served."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files, self.asked, self.cut, self.ranges = files, [], {}, True
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path[1:]
                content, wanted = server.files.get(name), self.headers.get("Range")
                server.asked.append((name, wanted))
                if content is None:
                    self.send_error(404)
                    return
                start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]) if wanted and server.ranges else 0
                if start >= len(content):
                    self.send_error(416)
                    return
                self.send_response(206 if start else 200)
                self.send_header("Content-Length", str(len(content) - start))
                self.end_headers()
                self.wfile.write(content[start : server.cut.pop(name, None)])

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,))

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.http.server_port}/{name}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    made = Server(contents())
    made.thread.start()
    yield made
    made.http.shutdown()
    made.thread.join()
    made.http.server_close()


def offers(monkeypatch: pytest.MonkeyPatch, server: Server, **change: object) -> None:
    """Fashion-MNIST is to be had from this server, with right checksums, and not as a package."""
    downloads = tuple(Download(server.url(name), md5(file), "a test") for name, file in server.files.items())
    entry = replace(catalogue.ENTRIES["fashion-mnist"], **({"downloads": downloads, "package": ""} | change))
    monkeypatch.setitem(catalogue.ENTRIES, "fashion-mnist", entry)


def left(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_what_is_there_is_left_alone(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, content in contents().items():
        write(nowhere / "system/fashion-mnist" / name, content)
    monkeypatch.setattr(fetch.subprocess, "run", forbidden)
    monkeypatch.setattr("pooch.retrieve", forbidden)
    fetch.main()
    assert capsys.readouterr().out == "Fashion-MNIST: already available.\n"
    assert fetch.fetch("digits") == "needs no files."


def test_downloads_whole_files(nowhere: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    offers(monkeypatch, server)
    seen = []
    how = fetch.fetch("fashion-mnist", lambda *progress: seen.append(progress))
    target = nowhere / "mine/fashion-mnist"
    assert how == f"downloaded to {target}." and left(nowhere / "mine") == [
        f"fashion-mnist/{name}" for name in sorted(server.files)
    ]
    assert {name: (target / name).read_bytes() for name in server.files} == server.files
    name = next(iter(server.files))
    assert (name, len(server.files[name]), len(server.files[name])) in seen
    assert data.available("fashion-mnist")


def test_without_a_named_folder_it_goes_into_the_cache(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, server: Server
) -> None:
    monkeypatch.delenv("FEDTHEORY_DATA")
    offers(monkeypatch, server)
    assert fetch.fetch("fashion-mnist") == f"downloaded to {nowhere / 'cache/fedtheory/fashion-mnist'}."


@pytest.mark.parametrize("ranges", [True, False])
def test_a_download_cut_short_is_resumed(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, server: Server, ranges: bool
) -> None:
    offers(monkeypatch, server)
    first, second, *_ = server.files
    server.cut[second], server.ranges = 16, ranges
    monkeypatch.setattr(fetch, "_BLOCK", 8)  # what is lost of a broken connection is less than a block
    with pytest.raises(ValueError, match=r"fashion-mnist could not be fetched: .*16 bytes read"):
        fetch.fetch("fashion-mnist")
    assert not (nowhere / "mine/fashion-mnist").exists()
    assert fetch.fetch("fashion-mnist").startswith("downloaded")
    asked = [wanted for name, wanted in server.asked if name == second]
    assert asked == [None, "bytes=16-"] and [name for name, _ in server.asked].count(first) == 1
    assert (nowhere / "mine/fashion-mnist" / second).read_bytes() == server.files[second]
    assert len(left(nowhere / "mine")) == 4


def test_a_wrong_checksum_leaves_nothing_in_place(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    offers(monkeypatch, server)
    name = list(server.files)[-1]
    right = server.files[name]
    server.files[name] = right[:-1] + bytes([right[-1] ^ 1])
    fetch.main()
    out = capsys.readouterr().out
    assert out.count("\n") == 1 and "not available" in out and "hash" in out and "skipped" in out
    assert not (nowhere / "mine/fashion-mnist").exists() and name not in "".join(left(nowhere / "mine"))
    server.files[name] = right
    assert fetch.fetch("fashion-mnist").startswith("downloaded")


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_archives_are_unpacked(nowhere: Path, monkeypatch: pytest.MonkeyPatch, server: Server, kind: str) -> None:
    files = {f"made/{name}": content for name, content in contents().items()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    server.files["all.bin"] = tar_gz(files) if kind == "tar" else buffer.getvalue()
    download = Download(server.url("all.bin"), md5(server.files["all.bin"]), "a test", archive=True)
    offers(monkeypatch, server, downloads=(download,), inner=("made",))
    write(nowhere / "mine/fashion-mnist/made/old", b"what an interrupted run left")
    assert fetch.fetch("fashion-mnist").startswith("downloaded")
    assert left(nowhere / "mine") == [f"fashion-mnist/made/{name}" for name in sorted(contents())]


def test_archives_write_nothing_outside(tmp_path: Path) -> None:
    archive = write(tmp_path / "in/evil.tar.gz", tar_gz({"../evil": b"1"}))
    with pytest.raises(ValueError, match="cannot be unpacked"):
        fetch.unpack(archive, tmp_path / "in/out")
    assert not (tmp_path / "in/evil").exists()
    archive.write_bytes(archive.read_bytes()[:-20])
    with pytest.raises(ValueError, match="cannot be unpacked"):
        fetch.unpack(archive, tmp_path / "in/out")


def test_a_missing_file_is_named(nowhere: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    offers(monkeypatch, server)
    server.files.clear()
    with pytest.raises(ValueError, match="404"):
        fetch.fetch("fashion-mnist")
    with pytest.raises(ValueError, match=r"femnist could not be fetched: .*see the help of data\.femnist"):
        fetch.fetch("femnist")


def test_the_package_is_installed_as_root(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = []

    def run(command: list[str], **_: object) -> None:
        commands.append(command)
        if "install" in command:
            for name, content in contents().items():
                write(nowhere / "system/fashion-mnist" / name, content)

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(fetch.shutil, "which", lambda _: "/usr/bin/apt-get")
    monkeypatch.setattr(fetch.subprocess, "run", run)
    monkeypatch.setattr("pooch.retrieve", forbidden)
    fetch.main()
    assert capsys.readouterr().out == "Fashion-MNIST: installed the package dataset-fashion-mnist.\n"
    assert [command[2] for command in commands] == ["update", "install"]
    assert "dataset-fashion-mnist" in commands[1]


def test_without_root_it_is_downloaded(nowhere: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(fetch.subprocess, "run", forbidden)
    offers(monkeypatch, server, package="dataset-fashion-mnist")
    assert fetch.fetch("fashion-mnist").startswith("downloaded")


def test_every_checksum_has_a_form_and_a_source() -> None:
    for entry in catalogue.ENTRIES.values():
        for download in entry.downloads:
            assert re.fullmatch(r"md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}", download.checksum) and download.published
            assert download.status.startswith("verified" if download.verified else "unverified")
        for checksum in entry.content.values():
            assert re.fullmatch(r"md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}", checksum) and entry.content_source
    assert Download("http://host/file").status == "unverified: no published checksum found"


# The command line


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["data", *arguments])
    return result.exit_code, result.output


def test_listing(nowhere: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    for name, content in contents().items():
        write(nowhere / "mine/fashion-mnist" / name, content)
    write(nowhere / "mine/fashion-mnist/COPY.txt", b"made by a test")
    import json

    rows = {row["name"]: row for row in json.loads(invoke("list", "--json")[1])}
    assert rows.keys() == catalogue.ENTRIES.keys()
    row = rows["fashion-mnist"]
    assert (row["classes"], row["samples"], row["found"]) == (10, [60000, 10000], str(nowhere / "mine/fashion-mnist"))
    assert row["copy"].startswith("made by a test; not the published content")
    assert rows["svhn"]["found"] is None and rows["femnist"]["samples"] is None
    code, text = invoke("list")
    assert code == 0 and all(name in text for name in rows) and "unverified: SHA-256" in text
    code, text = invoke("where", "svhn", "--json")
    assert code == 1 and str(nowhere / "mine/svhn") in json.loads(text)["places"]
    assert invoke("where", "fashion-mnist")[0] == 0 and invoke("where", "digits")[0] == 0


def test_fetching(nowhere: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    offers(monkeypatch, server)
    code, text = invoke("fetch", "digits", "fashion-mnist")
    assert code == 0 and "digits: needs no files." in text and "fashion-mnist: downloaded to" in text
    code, text = invoke("fetch", "femnist", "fashion-mnist")
    assert code == 1 and "femnist could not be fetched" in text and "fashion-mnist: already available." in text


def test_unknown_names_are_refused_first(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "fetch", forbidden)
    result = CliRunner().invoke(app, ["data", "fetch", "mnist", "cifar"])
    assert isinstance(result.exception, ValueError) and "did you mean 'cifar-10'?" in str(result.exception)
