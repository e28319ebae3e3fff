"""Letters of the papers, as they are typed: which quantity a letter stands for in a claim."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .statement import Claim


def spelled(letter: str) -> str:
    r"""Return a letter as plain text, however it was typed; "" for LaTeX that is no letter with an index.

    >>> [spelled(letter) for letter in (r"\eta_c", "η_c", "eta_c", r"G_1^{\min}", r"\|x\|")]
    ['eta_c', 'eta_c', 'eta_c', 'G_1^min', '']
    """
    known = (_greek(sign) for sign in unicodedata.normalize("NFKC", letter))
    plain = re.sub(r"\\(mathbf|mathrm|mathcal|hat|bar|tilde|widetilde)\b|[\\{}]", "", "".join(known)).strip()
    return plain if re.fullmatch(r"\w+(\^\w+)?", plain) else ""


def _greek(sign: str) -> str:
    name = unicodedata.name(sign, "")
    return name.rpartition(" ")[2].lower().replace("lamda", "lambda") if name.startswith("GREEK SMALL LETTER") else sign


def by_letter(letters: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the quantities of each letter, as ``spelled``.

    >>> by_letter({"cutoff": "K", "local_steps": "K", "local_lr": r"\\eta"})
    {'K': ['cutoff', 'local_steps'], 'eta': ['local_lr']}
    """
    found: dict[str, list[str]] = {}
    for name, letter in letters.items():
        if plain := spelled(letter):
            found.setdefault(plain, []).append(name)
    return found


def quantity_named(claim: Claim, name: str, known: Iterable[str]) -> str:
    """Return the quantity that a name, or a letter of the claim's paper, stands for in the claim; a name that is
    neither comes back as it is, for what takes it to refuse.

    Raises:
        ValueError: the letter stands for several; all are named.

    >>> from fedtheory.papers import claim
    >>> [quantity_named(claim("fast.thm2"), name, ()) for name in ("L", "mu", "eta_c", "G_7")]
    ['smoothness', 'strong_convexity', 'local_lr', 'G_7']
    """
    if name in known:
        return name
    used = {quantity: letter for quantity, letter in claim.letters.items() if quantity in claim.quantities}
    for letters in (used, claim.letters):
        found = by_letter(letters).get(spelled(name), [])
        if len(found) > 1:
            listed = " and for ".join(found)
            raise ValueError(f"{name}: stands for {listed} in {claim.ref}: allowed is one of these names")
        if found:
            return found[0]
    return name
