"""Pages load nothing from elsewhere and run only what their template put there; names are no markup."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from fedtheory.experiments.table_pages import _page
from fedtheory.markdown import cell, code
from fedtheory.papers import claim
from fedtheory.report.site.claim_page import claim_page
from fedtheory.report.site.pages import front_page, policy, render, render_alone

PAGES = {
    "front": lambda: render("index.html", up="", **front_page()),
    "claim": lambda: render("claim.html", up="../", page=claim_page(claim("fast.thm2"))),
    "alone": lambda: render_alone("refereed.html", reports=[]),
}


class Loaded(HTMLParser):
    """What a page loads, and its policy."""

    def __init__(self) -> None:
        super().__init__()
        self.policies: list[str] = []
        self.sources: list[str] = []
        self.inline: list[str] = []
        self._in = ""

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if given.get("http-equiv") == "Content-Security-Policy":
            assert not self.sources and not self.inline, "before anything is loaded"
            self.policies.append(given["content"])
        assert not any(name.startswith("on") or name == "style" for name in given), (tag, given)
        self.sources += [given[name] for name in ("src", "data") if name in given]
        self.sources += [given["href"]] if tag == "link" else []
        self._in = tag if tag in ("script", "style") and "src" not in given else ""

    def handle_data(self, data):
        if self._in:
            self.inline.append(data)

    def handle_endtag(self, tag):
        self._in = ""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_allows_what_it_has_and_nothing_from_elsewhere(name: str) -> None:
    page = Loaded()
    page.feed(PAGES[name]())
    (said,) = page.policies
    rules = {words[0]: set(words[1:]) for words in map(str.split, said.split(";"))}
    assert rules["default-src"] == {"'none'"} and rules["base-uri"] == rules["form-action"] == {"'none'"}
    allowed = set.union(*rules.values())
    assert all(re.fullmatch(r"'none'|'self'|data:|'sha256-[A-Za-z0-9+/=]{44}'", each) for each in allowed), said
    hashes = {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in page.inline}
    assert hashes == {each for each in rules["script-src"] | rules["style-src"] if each.startswith("'sha256")}
    assert all(":" not in source.split(",")[0] or source == "data:," for source in page.sources), page.sources
    assert (name == "alone") == (not [each for each in page.sources if each != "data:,"])


def test_what_was_not_escaped_in_the_content_is_not_allowed() -> None:
    bad = "<main></main><script>bad()</script><style>x{}</style>"
    page = f"<head><style>a{{}}</style></head><main>{bad}</main><script>good()</script>"
    assert policy(page) == policy(page.replace(bad, ""))


NAMES = ("a|b", "<script>x()</script>", "<img src=http://x>", "[x](http://x)", "![x][y]", "a\nb", "`|` <b>", "[a]: b")


@pytest.mark.parametrize("name", NAMES)
def test_names_break_no_table_and_are_no_markup(name: str) -> None:
    for text in (cell(name), code(name)):
        assert "\n" not in text and re.search(r"(?<!\\)\|", text) is None
    assert re.search(r"<[A-Za-z/!?]|\][\[(:]", cell(name)) is None and code(name).count("`") == 2


def test_plain_words_stay_as_they_are() -> None:
    for text in ("1 < 2, [0, 1], a_b * c", "local_lr=0.1", "> 99.9%", "(0, 1]"):
        assert cell(text) == text


def test_a_page_of_a_table_shows_names_as_they_are() -> None:
    class Table:
        name, caption, place = "x <script>", "a [b](http://c)", "p|q"

    text = _page(Table(), [])  # type: ignore[arg-type]
    assert "<script>" not in text and "](" not in text and "p\\|q" in text


def test_pages_link_to_the_docs_where_they_are() -> None:
    """And nowhere, where the report stands alone."""
    told = {
        docs: render("parts.html", parts=[], list="x", title="t", lead="l", up="../", docs=docs) for docs in ("", "..")
    }
    assert 'href="../../index.html"' in told[".."] and 'href="../../tutorials/check-a-theorem.html"' in told[".."]
    assert "Documentation" not in told[""] and "tutorials" not in told[""]
