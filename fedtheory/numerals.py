"""Numbers in text: one parser for files, arguments and the command line, whose cost is bounded by the text's length.

``Fraction("1e-99999999")`` makes a number of 10^8 digits and is not done for hours, so that ten characters of a file
would occupy a machine: texts have at most ``DIGITS`` digits and exponents of at most ``EXPONENT``.
"""

from __future__ import annotations

import re
from fractions import Fraction

DIGITS, EXPONENT = 60, 400
"""Digits of a decimal, or of a numerator or denominator, and the largest size of a decimal exponent."""
ALLOWED = f"a number such as 3, -1/2, 0.25 or 1e-3, of at most {DIGITS} digits and exponents up to {EXPONENT}"

_NUMBER = re.compile(
    r"\s*[-+]?(?:(?P<numerator>[0-9]+)/(?P<denominator>[0-9]+)"
    r"|(?P<whole>[0-9](?:_?[0-9])*)?(?:\.(?P<part>[0-9]*))?(?:[eE][-+]?(?P<exponent>[0-9]+))?)\s*",
    re.ASCII,
)


def rational(text: str, digits: int = DIGITS) -> Fraction:
    """The rational number that a text is.

    Args:
        text: as 3, -1/2, 0.25 or 1e-3.
        digits: that a decimal, a numerator or a denominator may have.

    Raises:
        ValueError: it is none, or has more digits or a larger exponent.

    >>> rational("1/3"), rational(" -2.5e-1")
    (Fraction(1, 3), Fraction(-1, 4))
    >>> rational("1e-99999999")
    Traceback (most recent call last):
    ValueError: '1e-99999999': allowed is a number such as 3, -1/2, 0.25 or 1e-3, of at most 60 digits and ...
    """
    found = _NUMBER.fullmatch(text) if len(text) <= 3 * digits + 40 else None
    if found and found["numerator"]:
        lengths = len(found["numerator"]), len(found["denominator"])
        if max(lengths) <= digits and int(found["denominator"]):
            return Fraction(int(found["numerator"]) * (-1 if "-" in text else 1), int(found["denominator"]))
    elif found and (found["whole"] or found["part"]):
        written = (found["whole"] or "").replace("_", "") + (found["part"] or "")
        exponent = found["exponent"] or "0"
        if len(written) <= digits and len(exponent) <= 9 and int(exponent) <= EXPONENT:
            return Fraction(text)
    raise ValueError(f"{text if len(text) <= 80 else text[:77] + '...'!r}: allowed is {ALLOWED}")


def whole(text: str, digits: int = DIGITS) -> int:
    """The integer that a text is, as JSON and TOML write them.

    Raises:
        ValueError: it has more digits.
    """
    if (length := len(text.lstrip("-+"))) > digits:
        raise ValueError(f"a number of {length} digits: allowed are at most {digits}")
    return int(text)
