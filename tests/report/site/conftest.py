"""The report, and a browser, once for all tests of a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedtheory.claims.statement import Claim
from fedtheory.report.site import pages, write
from fedtheory.report.site.claim_page import ClaimPage, claim_page
from tests.report.site import chromium


@pytest.fixture(scope="session")
def report(tmp_path_factory) -> tuple[Path, dict[str, ClaimPage]]:
    """A folder with the whole report, without pictures, and what the claims' pages there show, by ref."""
    folder, shown = tmp_path_factory.mktemp("report"), {}

    def kept(claim: Claim, *pictures: tuple[str, ...]) -> ClaimPage:
        shown[claim.ref] = claim_page(claim, *pictures)
        return shown[claim.ref]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "claim_page", kept)
        write(folder)
    return folder, shown


@pytest.fixture(scope="session")
def site(report) -> Path:
    """A folder with the whole report, without pictures."""
    return report[0]


@pytest.fixture(scope="session")
def shown(report) -> dict[str, ClaimPage]:
    """What the claims' pages of the report show, by ref."""
    return report[1]


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
