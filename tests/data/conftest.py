"""Folders of the test's own, instead of those that this machine may have."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedtheory.data import folders


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No folder that is looked in holds any data: FEDTHEORY_DATA is ``mine``, the others ``system`` and ``cache``."""
    monkeypatch.setattr(folders, "SYSTEM_FOLDER", tmp_path / "system")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("FEDTHEORY_DATA", str(tmp_path / "mine"))
    return tmp_path
