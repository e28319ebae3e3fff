"""What tests read in a page."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "link", "input", "img", "br", "wbr"}


class Page(HTMLParser):
    """A page, read.

    Attributes:
        links: what it points to or loads. scripts: how many it has. cells: the text of every cell, by its tag. marked:
            the text of what is marked as differing. tags: all that occur. handlers: attributes that would run code.
        text: all of it.
    """

    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[str] = []
        self.scripts = 0
        self.cells: list[tuple[str, str]] = []
        self.tags: set[str] = set()
        self.handlers: list[str] = []
        self._open: list[tuple[str, list[str]]] = []
        self._text: list[str] = []
        self.feed(content)
        self.close()
        if self._open:
            raise ValueError(f"not closed: {[tag for tag, _ in self._open]}")
        self.text = " ".join("".join(self._text).split())

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.tags.add(tag)
        self.handlers += [name for name in named if name.startswith("on")]
        self.links += [value for name, value in attributes if name in ("href", "src") and value]
        self.scripts += tag == "script"
        if tag not in VOID:
            self._open.append((tag, []))
        if tag in ("input", "select", "svg", "img") and self._open:
            self._open[-1][1].append("something")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        opened, text = self._open.pop()
        if opened != tag:
            raise ValueError(f"</{tag}> closes <{opened}>")
        inside = "".join(text)
        if tag in ("td", "dd", "th", "li"):
            self.cells.append((tag, " ".join(inside.split())))
        if self._open:
            self._open[-1][1].append(inside)

    def handle_data(self, data):
        if self._open and self._open[-1][0] not in ("script", "style"):
            self._open[-1][1].append(data)
            self._text.append(data)


def read(path: Path) -> Page:
    try:
        return Page(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
