"""Formulas as presentation MathML, which browsers draw without help: from the LaTeX that typesets claims.

The LaTeX that is read is what `claims.typeset` writes of sympy's trees and what papers give as letters and left sides:
fractions, roots, scripts, accents, alphabets, delimiters and named operators. An unknown command is shown by its name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from markupsafe import Markup, escape

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[0-9]+(?:\.[0-9]+)?|\S", re.DOTALL)

_GREEK = {
    name: unicodedata.lookup(f"GREEK {case} LETTER {unicode or name.upper()}")
    for case, names in {
        "SMALL": {"alpha": "", "beta": "", "gamma": "", "delta": "", "varepsilon": "EPSILON", "zeta": "", "eta": "",
                  "theta": "", "iota": "", "kappa": "", "lambda": "LAMDA", "mu": "", "nu": "", "xi": "", "pi": "",
                  "rho": "", "sigma": "", "tau": "", "varphi": "PHI", "chi": "", "psi": "", "omega": ""},
        "CAPITAL": {"Gamma": "", "Delta": "", "Theta": "", "Lambda": "LAMDA", "Xi": "", "Pi": "", "Sigma": "",
                    "Phi": "", "Psi": "", "Omega": ""},
    }.items()
    for name, unicode in names.items()
}  # fmt: skip
_LETTERS = _GREEK | {"epsilon": "ϵ", "phi": "ϕ", "nabla": "∇", "infty": "∞", "ell": "ℓ", "partial": "∂", "prime": "′"}
_OPERATORS = {
    "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "neq": "≠", "in": "∈", "notin": "∉", "sim": "∼", "to": "→",
    "cdot": "·", "times": "×", "pm": "±", "approx": "≈", "mid": "|", "ldots": "…", "dots": "…", "cup": "∪", "cap": "∩",
}  # fmt: skip
_FENCES = {
    "langle": "⟨", "rangle": "⟩", "lceil": "⌈", "rceil": "⌉", "lfloor": "⌊", "rfloor": "⌋", "|": "‖", "{": "{",
    "}": "}", "lvert": "|", "rvert": "|", "lVert": "‖", "rVert": "‖", "Vert": "‖", "vert": "|",
}  # fmt: skip
_NAMED = {"log", "exp", "Pr", "ln", "sin", "cos", "tan", "sign"}
_LIMITS = {"sum": "∑", "prod": "∏", "min": "min", "max": "max", "lim": "lim", "sup": "sup", "inf": "inf"}
_ACCENTS = {"bar": "¯", "hat": "^", "tilde": "~", "overline": "¯", "widehat": "^", "widetilde": "~"}
_SIZES = {"big": "1.2em", "Big": "1.6em", "bigg": "2.2em", "Bigg": "2.8em"}
_ALPHABETS = {"mathbf": "BOLD", "mathbb": "DOUBLE-STRUCK", "mathcal": "SCRIPT", "mathfrak": "FRAKTUR"}
_SPACES = {",": "0.17em", ";": "0.28em", ":": "0.22em", " ": "0.3em", "quad": "1em", "qquad": "2em", "!": "0"}


@lru_cache(maxsize=4096)
def mathml(latex: str) -> Markup:
    """A formula as a ``math`` element.

    Raises:
        ValueError: braces, or ``\\left`` and ``\\right``, do not match.

    >>> print(mathml(r"\\frac{a}{2} \\le \\sigma_G^{2}"))
    <math><mfrac><mi>a</mi><mn>2</mn></mfrac><mo>≤</mo><msubsup><mi>σ</mi><mi>G</mi><mn>2</mn></msubsup></math>
    >>> print(mathml("x < <script>"))
    <math><mi>x</mi><mo>&lt;</mo><mo>&lt;</mo><mi>s</mi><mi>c</mi><mi>r</mi><mi>i</mi><mi>p</mi><mi>t</mi><mo>&gt;</mo></math>
    """
    reader = _Reader(_TOKEN.findall(latex))
    content = reader.row()
    if reader.left:
        raise ValueError(f"{latex!r}: {reader.left[0]!r} closes nothing")
    return Markup("<math>{}</math>").format(content)


def formula(latex: str) -> Markup:
    """A formula as ``mathml`` has it, or as its LaTeX where that cannot be read: a paper's letters may be anything.

    >>> print(formula("{a"))
    <math><mtext class="code">{a</mtext></math>
    """
    try:
        return mathml(latex)
    except ValueError:
        return symbol(latex)


def symbol(name: str) -> Markup:
    """Write a name that has no letter as it is written in code."""
    return Markup('<math><mtext class="code">{}</mtext></math>').format(name)


def _element(tag: str, *parts: str, **attributes: str) -> Markup:
    written = Markup("").join(Markup(' {}="{}"').format(key, value) for key, value in attributes.items())
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(tag), written, Markup("").join(escape(part) for part in parts))


def _styled(alphabet: str, letter: str) -> str:
    """A letter of an alphabet, as its own character; as it is where there is none."""
    case = "CAPITAL" if letter.isupper() else "SMALL"
    for name in (f"MATHEMATICAL {alphabet} {case} {letter.upper()}", f"{alphabet} {case} {letter.upper()}"):
        try:
            return unicodedata.lookup(name)
        except KeyError:
            continue
    return letter


class _Reader:
    """Reads tokens from the left."""

    def __init__(self, tokens: list[str]) -> None:
        self.left = tokens

    def row(self, end: str = "") -> Markup:
        """Everything up to a token, which is taken too; or up to the end or a brace that closes an outer group."""
        parts: list[Markup] = []
        while self.left and self.left[0] != end and self.left[0] not in ("}", r"\right"):
            parts.append(self.scripted())
        if end:
            self._take(end)
        return Markup("").join(parts)

    def scripted(self) -> Markup:
        """An atom with what stands below and above it."""
        limits = self.left[0].removeprefix("\\") in _LIMITS
        base = self.atom()
        scripts: dict[str, Markup] = {}
        while self.left and self.left[0] in ("^", "_", "'"):
            sign = self.left.pop(0)
            where, script = ("^", _element("mo", "′")) if sign == "'" else (sign, self.argument())
            if where in scripts:  # a second one of the kind belongs to what came before
                base, scripts = self._attached(base, scripts, limits), {}
            scripts[where] = script
        return self._attached(base, scripts, limits) if scripts else base

    def _attached(self, base: Markup, scripts: dict[str, Markup], limits: bool) -> Markup:
        kind = (
            {"_": "munder", "^": "mover", "_^": "munderover"} if limits else {"_": "msub", "^": "msup", "_^": "msubsup"}
        )
        which = "".join(sign for sign in "_^" if sign in scripts)
        return _element(kind[which], base, *(scripts[sign] for sign in which))

    def argument(self) -> Markup:
        """Read the argument of a command or a script: a group in braces as one element, else one token."""
        if not self.left:
            raise ValueError("a formula ends where a command needs an argument")
        if self.left[0] == "{":
            self.left.pop(0)
            return _one(self.row("}"))
        if self.left[0].isdigit() and len(self.left[0]) > 1:  # \frac12: one digit each
            first, self.left[0] = self.left[0][0], self.left[0][1:]
            return _element("mn", first)
        return self.atom()

    def atom(self) -> Markup:
        token = self.left.pop(0)
        if token == "{":
            return _one(self.row("}"))
        if not token.startswith("\\"):
            return _plain(token)
        name = token[1:]
        read: Callable[[str], Markup] | None = self._commands().get(name)
        if read is not None:
            return read(name)
        if name in _LETTERS:
            return _element("mi", _LETTERS[name])
        if name in _OPERATORS:
            return _element("mo", _OPERATORS[name])
        if name in _FENCES:
            return _element("mo", _FENCES[name], stretchy="false")
        if name in _LIMITS:
            return _element("mo", _LIMITS[name], movablelimits="false")
        if name in _NAMED:
            return _element("mi", name) + _element("mspace", width="0.17em")
        return _element("mtext", token if name.isalpha() else name)

    def _commands(self) -> dict[str, Callable[[str], Markup]]:
        return {
            "frac": lambda name: _element("mfrac", self.argument(), self.argument()),
            "sqrt": self._root,
            "left": self._fenced,
            "operatorname": self._word,
            "mathrm": self._word,
            "text": self._word,
            "mathtt": self._word,
            **dict.fromkeys(_ACCENTS, self._accented),
            **dict.fromkeys(_ALPHABETS, self._of_alphabet),
            **dict.fromkeys(_SIZES, self._sized),
            **dict.fromkeys(_SPACES, lambda name: _element("mspace", width=_SPACES[name])),
        }

    def _root(self, name: str) -> Markup:
        if self.left and self.left[0] == "[":
            self.left.pop(0)
            degree = _one(self.row("]"))
            return _element("mroot", self.argument(), degree)
        return _element("msqrt", self.argument())

    def _fenced(self, name: str) -> Markup:
        opening = self._delimiter(stretchy="true")
        inside = self.row()
        self._take(r"\right")
        return _element("mrow", opening, inside, self._delimiter(stretchy="true"))

    def _sized(self, name: str) -> Markup:
        size = _SIZES[name]
        return self._delimiter(stretchy="true", minsize=size, maxsize=size, symmetric="true")

    def _delimiter(self, **attributes: str) -> Markup:
        token = self.left.pop(0) if self.left else ""
        name = token.removeprefix("\\")
        sign = "" if token == "." else _FENCES.get(name, name) if token.startswith("\\") else token
        return _element("mo", sign, **attributes)

    def _accented(self, name: str) -> Markup:
        return _element("mover", self.argument(), _element("mo", _ACCENTS[name], stretchy="false"), accent="true")

    def _of_alphabet(self, name: str) -> Markup:
        letters = self._raw()
        return _one(
            Markup("").join(
                _element("mi", _styled(_ALPHABETS[name], x), mathvariant="normal") if x.isalpha() else _plain(x)
                for x in letters
            )
        )

    def _word(self, name: str) -> Markup:
        word = self._raw()
        attributes = {"class": "code"} if name == "mathtt" else {}
        return _element("mi" if len(word) == 1 else "mtext", word, **attributes)

    def _raw(self) -> str:
        """An argument as it is written, without the signs that protect characters."""
        if not self.left:
            raise ValueError("a formula ends where a command needs an argument")
        token = self.left.pop(0)
        if token != "{":
            return token.removeprefix("\\")
        found = []
        while self.left and self.left[0] != "}":
            found.append(self.left.pop(0).removeprefix("\\"))
        self._take("}")
        return "".join(found)

    def _take(self, token: str) -> None:
        if not self.left or self.left.pop(0) != token:
            raise ValueError(f"a formula ends where {token!r} is needed")


def _one(content: Markup) -> Markup:
    """Content as one element."""
    single = re.fullmatch(r"<(\w+)[^>]*>[^<]*</\1>", content)
    return content if single else _element("mrow", content)


def _plain(token: str) -> Markup:
    if token[0].isdigit():
        return _element("mn", token)
    if token.isalpha():
        return _element("mi", token)
    if token in "()[]|":
        return _element("mo", token, stretchy="false")
    return _element("mo", {"-": "−", "*": "∗"}.get(token, token))
