"""The report, and a browser, once for all tests of a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedtheory.report.site import write
from tests.report.site import chromium


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """A folder with the whole report, without pictures."""
    folder = tmp_path_factory.mktemp("report")
    write(folder)
    return folder


@pytest.fixture(scope="session")
def page():
    """A page of a browser."""
    with chromium.browser() as opened:
        yield opened


@pytest.fixture
def quiet(page):
    """A page on which nothing was said or asked for yet; in the end, nothing may have been."""
    page.errors.clear(), page.requests.clear()
    page.look(1280)
    yield page
    assert page.errors == []
    assert [request for request in page.requests if not request.startswith(("file:", "data:"))] == []
