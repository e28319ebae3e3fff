"""The folder of pages: what there is, which template shows it, and where it goes."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from ...evidence.counts import counted, read_literally
from ...evidence.scorecard import least_exceeding
from ...files import check_target
from ...papers import all_claims, papers
from ..colours import style_sheet
from . import published_evidence
from .claim_page import claim_page, figures_of
from .javascript import literal
from .replaced_folder import fresh

HERE = Path(__file__).parent
STYLE, COLOURS = "style.css", "colours.css"
SCRIPTS = ("arithmetic.js", "plot.js", "calculator.js", "film.js", "filter.js", "fit.js")

Tell = Callable[[str, int, int], None] | None


def address(ref: str) -> str:
    """Return the place of a claim's page in the folder."""
    return f"claims/{ref}.html"


@cache
def environment() -> jinja2.Environment:
    """The templates; whatever is no markup of our own is escaped."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "js": lambda value: Markup(literal(value)),
        "number": number,
        "least_exceeding": least_exceeding,
        "plain": plain_text,
        "docstring": docstring,
        "inline": inline,
        "breakable": breakable,
    }
    made.globals |= {"address": address, "NOT_CHECKED": published_evidence.NOT_CHECKED, "sheets": (COLOURS, STYLE)}
    return made


def render(template: str, **content: Any) -> str:
    """Fill a template, with a content security policy that allows what the template put there, and nothing from
    elsewhere."""
    page = environment().get_template(template).render(**{"docs": ""} | content)
    return page.replace("@POLICY@", policy(page), 1)


def policy(page: str) -> str:
    """Return the policy of what a page may load and run: files beside it, and the style sheets in its head and the
    scripts behind its content, by their hashes. What stands in its content runs nothing, even if something there was
    not escaped.

    >>> policy("<head><style>a{}</style></head><main><script>bad()</script></main>")
    "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-...'; img-src 'self' data:; base-uri 'none'; ...
    """
    head, behind = page.partition("</head>")[0], page.rpartition("</main>")[2]
    scripts, styles = _hashes("script", behind), _hashes("style", head)
    return (
        f"default-src 'none'; script-src 'self'{scripts}; style-src 'self'{styles}; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hashes(tag: str, text: str) -> str:
    inline = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    digests = (hashlib.sha256(each.encode()).digest() for each in inline)
    return "".join(f" 'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def number(value: Any) -> str:
    """Write a number as pages show it; a missing one, or a value that is no number, in words.

    >>> number(0.00123456789), number(None), number(True), number(3), number("nan")
    ('0.00123457', 'not known', 'yes', '3', 'not known')
    """
    if value is None or value != value or value == "nan":
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def plain_text(value: Any) -> str:
    """Plain data in one line.

    >>> plain_text({"a": [1, 0.5], "b": {"c": None}})
    'a: (1, 0.5); b: (c: not known)'
    """
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_inner(entry)}" for key, entry in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_inner, value)) or "none"
    return number(value)


def docstring(text: str) -> Markup:
    """A docstring: paragraphs as such, indented lines and examples as they stand.

    >>> print(docstring("*How.* A ``b`` <c>.\\n\\n    x = 1"))
    <p><em>How.</em> A <code>b</code> &lt;c&gt;.</p><pre>    x = 1</pre>
    """
    blocks = [block for block in text.split("\n\n") if block.strip()]
    return Markup("").join(map(_block, blocks))


def _block(text: str) -> Markup:
    if text.startswith((" ", ">>>")) or "\n " in text:
        return Markup("<pre>{}</pre>").format(text)
    return Markup("<p>{}</p>").format(inline(text))


def breakable(name: str) -> Markup:
    """A name in code that may go on in the next line after its underscores.

    >>> print(breakable("step_<cap>"))
    step_<wbr>&lt;cap&gt;
    """
    return Markup("_<wbr>").join(name.split("_"))


def inline(text: str) -> Markup:
    """A sentence of a docstring, with its code and emphasis marked.

    >>> print(inline("see ``Adam`` & *How.*"))
    see <code>Adam</code> &amp; <em>How.</em>
    """
    marked = re.sub(r"(`{1,2})([^`]+)\1", r"<code>\2</code>", str(escape(text)))
    return Markup(re.sub(r"\*([A-Z][^*<]*\.)\*", r"<em>\1</em>", marked))


def _inner(value: Any) -> str:
    return f"({plain_text(value)})" if isinstance(value, (Mapping, list, tuple)) and value else plain_text(value)


def write(into: Path, figures: Path | None = None, progress: Tell = None, docs: str = "") -> list[Path]:
    """Write the report into a folder: every page, with what it needs beside it. Pages of an earlier report that are no
    more are removed; what no report wrote is left alone.

    Args:
        figures: a folder of pictures, which are copied where a page shows them.
        progress: called with (what is done, how much of it is done, how much it is in all).
        docs: where the pages of docs/ lie, as seen from the folder, such as ".."; pages then link to them.
    """
    check_target(into / "index.html", ".html")
    with fresh(into) as new:
        written = [path.relative_to(new) for path in _written(new, figures, progress, docs)]
    return [into / name for name in written]


def _written(into: Path, figures: Path | None, progress: Tell, docs: str) -> Iterator[Path]:
    from .further_pages import more_pages

    tell = progress or (lambda label, done, total: None)
    for name in SCRIPTS:
        yield _put(into / "assets" / name, (HERE / "assets" / name).read_bytes())
    for name, text in sheets().items():
        yield _put(into / "assets" / name, text.encode())
    claims = all_claims()
    for done, claim in enumerate(claims, start=1):
        pictures = figures_of(claim.ref, figures) if figures else []
        for path in pictures:
            yield _put(into / "figures" / path.name, path.read_bytes())
        page = claim_page(claim, tuple(path.name for path in pictures))
        yield _page(into / address(claim.ref), "claim.html", page=page, up="../", docs=docs)
        tell("claims", done, len(claims))
    for done, (name, template, content) in enumerate(more_pages(), start=1):
        picture = getattr(content.get("page"), "picture", None)
        if picture:
            yield _put(into / "figures" / content["page"].copied, picture.read_bytes())
        yield _page(into / name, template, up="../" * name.count("/"), docs=docs, **content)
        tell("other pages", done, done)
    yield _page(into / "index.html", "index.html", up="", docs=docs, **front_page())


def front_page() -> dict[str, Any]:
    """The scorecard: a row a claim, and how many of each paper have which verdict, printed ones and our own apart."""
    rows, counts = [_front_row(claim) for claim in all_claims()], counted(all_claims(), published_evidence.rows())
    return {
        "rows": rows,
        "papers": {name: paper.title for name, paper in papers().items()},
        "counts": counts,
        "kinds": published_evidence.KINDS,
    }


def _front_row(claim: Any) -> dict[str, Any]:
    row = published_evidence.rows().get(claim.ref)
    return {
        "claim": claim,
        "verdict": row["verdict"] if row else published_evidence.NOT_CHECKED,
        "ratio": published_evidence.largest_ratio(row),
        "kinds": published_evidence.kinds_of(row),
        "literally": read_literally(claim, row),
        "why": row["why"] if row else published_evidence.NOT_CHECKED,
        "tightness": published_evidence.tightness_in_short(claim.ref),
    }


def sheets() -> dict[str, str]:
    """The style sheets, by name: the colours of figures, and how pages look."""
    return {COLOURS: style_sheet(), STYLE: (HERE / "assets" / STYLE).read_text(encoding="utf-8")}


def render_alone(template: str, **content: Any) -> str:
    """One page with all that it needs inside it."""
    styles = Markup("\n".join(sheets().values()))
    scripts = Markup("\n".join((HERE / "assets" / name).read_text(encoding="utf-8") for name in SCRIPTS))
    return render(template, up="", styles=styles, scripts=scripts, **content)


def _page(path: Path, template: str, **content: Any) -> Path:
    return _put(path, render(template, **content).encode())


def _put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
