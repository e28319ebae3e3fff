"""Texts in Markdown pages: names and words from files are shown as they are, and are no markup."""

from __future__ import annotations

import re


def cell(text: object) -> str:
    """Text that neither breaks a line or a table nor is HTML, a link or a picture.

    >>> cell("a|b <img src=x> [x](http://x) 1 < 2")
    'a\\\\|b &lt;img src=x> [x]\\\\(http://x) 1 < 2'
    """
    line = " ".join(str(text).splitlines()).replace("|", "\\|")
    line = re.sub(r"\](?=[\[(:])", r"]\\", line)
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", line)


def code(text: object) -> str:
    """Text between backticks, which ends at none of its own.

    >>> code("a`b")
    "`a'b`"
    """
    return f"`{' '.join(str(text).splitlines()).replace('`', chr(39)).replace('|', chr(92) + '|')}`"
