"""How the pages of docs/ become a site: ``make docs``, without a network, where every warning is an error."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import tomllib
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.ext.autodoc.mock import mock

import fedtheory
from fedtheory.papers import papers
from fedtheory.report.site.mathml import mathml

HERE = Path(__file__).parent

project, author, version = "fedtheory", "The fedtheory authors", fedtheory.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"fedtheory {version}"
html_copy_source = False
html_show_copyright = False  # the licence says what may be copied
html_static_path = ["_static"]
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"  # which browsers draw by themselves: pages load nothing from elsewhere
suppress_warnings = ["ref.python"]  # of a name that two packages have, a type tells no which
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_mock_imports = ["flwr", "nvflare"]  # of which packages of the reference are, and which need not be there
napoleon_use_ivar = True
napoleon_use_rtype = False
default_role = "code"


def public_names() -> dict[str, list[str]]:
    """Return the public names of each package that has any, as ``fedtheory.__all__`` and theirs say."""
    packages = [name for name in fedtheory.__all__ if isinstance(getattr(fedtheory, name), ModuleType)]
    found = {"fedtheory": [name for name in fedtheory.__all__ if name not in packages]}
    for name in packages:
        package = import_module(f"fedtheory.{name}")
        found[package.__name__] = sorted(getattr(package, "__all__", ()))
    return found


def constant_text(name: str, value: object) -> list[str]:
    """Return the lines of the docstring that stands below a constant in the module that defines it."""
    for module in [each for key, each in sys.modules.items() if key.startswith("fedtheory.") and each.__file__]:
        if vars(module).get(name) is value:
            body = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body
            for before, after in pairwise(body):
                if isinstance(before, ast.Assign | ast.AnnAssign) and isinstance(after, ast.Expr):
                    target = before.targets[0] if isinstance(before, ast.Assign) else before.target
                    if ast.unparse(target) == name and isinstance(after.value, ast.Constant):
                        return inspect.cleandoc(str(after.value.value)).replace("|", r"\|").splitlines()
    return []


def reference_page(package: str, names: list[str]) -> str:
    """Return the page of a package: its docstring, and an entry for each public name."""
    lines = [package, "=" * len(package), "", f".. automodule:: {package}", "   :no-members:", ""]
    for name in names:
        with mock(autodoc_mock_imports):
            value = getattr(import_module(package), name)
        if inspect.ismodule(value):
            lines += [f".. automodule:: {package}.{name}", "   :members:", ""]
        elif inspect.isclass(value):
            lines += [f".. autoclass:: {package}.{name}", "   :members:", ""]
        elif inspect.isroutine(value):
            lines += [f".. autofunction:: {package}.{name}", ""]
        else:  # autodoc would show what its type says of itself
            lines += [
                f".. py:data:: {name}",
                f"   :module: {package}",
                "",
                *("   " + line for line in constant_text(name, value)),
                "",
            ]
    return "\n".join(lines)


def write_reference(app: Any) -> None:
    """Write a page for each package into docs/reference, and remove what no package has any more."""
    folder = HERE / "reference"
    folder.mkdir(exist_ok=True)
    pages = {f"{package}.rst": reference_page(package, names) for package, names in public_names().items() if names}
    for old in folder.glob("*.rst"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        put_page(folder / name, text)


def write_gallery(app: Any) -> None:
    """Write the page of all figures, each with the file that draws it."""
    first = (
        "Every figure is drawn by one file, from nothing else: `fedtheory run FILE`. Its numbers lie beside it. A "
        "click on a figure saves it at its full size."
    )
    lines = ["# Figures", "", first, ""]
    about = {**{name: paper.title for name, paper in papers().items()}, "engine": "What runs cost"}
    for name, title in about.items():
        files = sorted(HERE.parent.glob(f"experiments/{name}/figures/*.toml"))
        lines += [f"## {title}", "", *(line for file in files for line in figure_lines(name, file))] if files else []
    put_page(HERE / "gallery.md", "\n".join(lines))


def figure_lines(about: str, file: Path) -> list[str]:
    """Return the lines of a figure in the gallery."""
    content, name = tomllib.loads(file.read_text(encoding="utf-8")), f"{about}.{file.stem}"
    return [
        f"### {content['title']}",
        "",
        f"[![{content['title']}](../figures/{name}.png)](../figures/{name}.png)",
        "",
        f"{content['caption']} Drawn by `experiments/{about}/figures/{file.name}`.",
        "",
    ]


def put_page(path: Path, text: str) -> None:
    """Write a page, if it is not there as it is: an unchanged page is not built again."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def bars_are_bars(app: Any, what: str, name: str, thing: object, options: Any, lines: list[str]) -> None:
    """Escape the bars of norms in a docstring, which else begin a substitution; not in examples and in literals."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith(">>>"):
            parts = re.split(r"(``.*?``|`.*?`)", line)
            lines[i] = "".join(part if part.startswith("`") else part.replace("|", r"\|") for part in parts)


def let_names_break(app: Any, doctree: Any, page: str) -> None:
    """Let a name in a table break before its edition: `fast.thm1` before `@main`."""
    for text in [each for entry in doctree.findall(nodes.entry) for each in entry.findall(nodes.Text)]:
        first, *rest = re.split(r"(?<=\w)(?=@)", text)
        parts = [part for each in rest for part in (nodes.raw("", "<wbr>", format="html"), nodes.Text(each))]
        text.parent.replace(text, [nodes.Text(first), *parts])


def all_are_there(app: Any, error: Exception | None) -> None:
    """End with an error if a public name has no entry."""
    entries = app.env.domaindata["py"]["objects"]
    names = [f"{package}.{name}" for package, names in public_names().items() for name in names]
    if error is None and (missing := [name for name in names if name not in entries]):
        raise ExtensionError(f"not in the reference: {', '.join(missing)}")


def draw_formula(writer: Any, node: Any) -> None:
    """Write a formula as MathML; one on a line of its own in a block that can be scrolled."""
    display = isinstance(node, nodes.math_block)
    drawn = str(mathml(node.astext()))
    writer.body.append(f'<div class="formula">{drawn}</div>' if display else drawn)
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Connect what is generated."""
    app.add_html_math_renderer("mathml", (draw_formula, None), (draw_formula, None))
    app.add_css_file("formulas.css")
    app.connect("autodoc-process-docstring", bars_are_bars, priority=400)
    app.connect("builder-inited", write_reference)
    app.connect("builder-inited", write_gallery)
    app.connect("doctree-resolved", let_names_break)
    app.connect("build-finished", all_are_there)
