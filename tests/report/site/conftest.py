"""The report, written once for all tests of a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedtheory.report.site import write


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """A folder with the whole report, without pictures."""
    folder = tmp_path_factory.mktemp("report")
    write(folder)
    return folder
