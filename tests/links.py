"""Looks for dead links in a folder of pages: ``python tests/links.py build/docs``; exit status 1 if there is one.

A link is dead if its file is not in the folder, or if its page has no element of that name. Links to other hosts are
not followed: nothing is asked of a network.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINKS = {"href", "src"}


class Page(HTMLParser):
    """The names of a page's elements, and the addresses that it links to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.names, self.links = set[str](), list[str]()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.names.add(value or "")
            elif name in LINKS and value:
                self.links.append(value)


def dead_links(folder: Path) -> list[str]:
    """Each dead link once a page, as 'page: link'."""
    folder = folder.resolve()
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html"))}
    return [
        f"{path.relative_to(folder)}: {link}"
        for path, page in pages.items()
        for link in dict.fromkeys(page.links)
        if not _alive(link, path, folder, pages)
    ]


def _alive(link: str, path: Path, folder: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_relative_to(folder) or not target.is_file():
        return False
    # "#" alone is the page's top, and what a page draws by a script has no name before
    return not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].names


def main() -> int:
    folder = Path(sys.argv[1])
    if not any(folder.rglob("*.html")):
        print(f"{folder}: no page is there", file=sys.stderr)
        return 2
    found = dead_links(folder)
    print("\n".join(f"dead: {each}" for each in found) or "every link leads somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
