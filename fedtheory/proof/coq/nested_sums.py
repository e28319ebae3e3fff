"""Products and values of a saved proof as nested sums over clients and steps, and as text for Coq."""

from __future__ import annotations

from typing import NamedTuple

from .scalar_text import NotExported

Atom = tuple[str, bool, tuple[int, ...]]
"""(name, whether of a client, step a k + b K + c as (a, b, c), or empty)."""

Term = tuple[str, Atom]
"""Binders and atom."""

Entry = tuple
"""("one",), ("value", binders, atom) or ("product", binders, term, term)."""

ONE: Entry = ("one",)
START, OPTIMUM, NEXT = ("", ("x", False, ())), ("", ("x*", False, ())), ("", ("x+", False, ()))
MEAN_GRADIENT = ("M", ("g_start", True, ()))
SERVER_NOISE, NOISE = ("", ("N_server", False, ())), ("", ("N", True, (1, 0, 0)))
_PLAIN = {"x": "x", "x*": "xs", "x+": "xp", "N_server": "Ns"}
_CLIENTS = {"g_start": "g_start", "g_opt": "g_opt"}
_ALONG = {"x": "X", "g": "G", "N": "N"}
_KNOWN = {"x": "start_x", "xs": "start_xs", "g_start": "(start_g _)", "g_opt": "(start_o _)"}
SOME = {"M": "some_client", "S": "(drawn_some D)"}
"""Proofs that there are clients to take a mean over."""
SUMS = {"K": "(steps K)", "M": "(mean clients)", "S": "(mean S)"}


def atom_of(data: list) -> Atom:
    """Read an atom; raise ``NotExported`` for one that has no text in Coq."""
    name, client, step = data
    known = _ALONG if step else _CLIENTS if client else _PLAIN
    if name not in known and not name.startswith("E "):
        raise NotExported(f"vector {name!r}: exported are {', '.join({**_PLAIN, **_CLIENTS, **_ALONG})}")
    return str(name), bool(client), tuple(step)


def term_of(data: list) -> Term:
    """Read a term: binders and atom."""
    return str(data[0]), atom_of(data[1])


def entry_of(data: list) -> Entry:
    """Read an entry, with the factors of a product in order."""
    if data[0] == "one":
        return ONE
    if data[0] == "value":
        return ("value", data[1], atom_of(data[2]))
    return ("product", data[1], *sorted((term_of(data[2]), term_of(data[3]))))


def at_start(atom: Atom) -> bool:
    """Whether an atom is known at the round's start."""
    return not atom[2] and atom[0] not in ("x+", "N_server")


def parts_of(entry: Entry) -> tuple[str, list[Atom]]:
    """Return all binders of an entry, and its atoms."""
    if entry[0] == "product":
        return entry[1] + entry[2][0] + entry[3][0], [term[1] for term in entry[2:]]
    return ("", []) if entry == ONE else (entry[1], [entry[2]])


def entry_known(entry: Entry) -> bool:
    """Whether an entry is known at the round's start: it has no cohort's mean and no later vector."""
    binders, atoms = parts_of(entry)
    return "S" not in binders and all(map(at_start, atoms))


def _binds(binder: str, term: Term) -> bool:
    """Whether a binder binds the step, or the client, of a term."""
    bound, (_, client, step) = term
    if binder == "K":
        return bool(step) and step[0] != 0 and "K" not in bound
    return client and not set(bound) & {"M", "S"}


def open_in(entry: Entry, binder: str) -> bool:
    """Whether the client i, or the step k, that a binder binds is free in an entry."""
    if entry == ONE or set(entry[1]) & ({"K"} if binder == "K" else {"M", "S"}):
        return False
    if entry[0] == "value":
        return binder != "K" or _binds(binder, ("", entry[2]))
    return any(_binds(binder, term) for term in entry[2:])


def index_text(step: tuple[int, ...], k: str) -> str:
    """Return the index of a step as text for Coq."""
    a, b, c = step
    if a not in (0, 1) or b not in (0, 1) or a + b > 1 or c < 0:
        raise NotExported(f"step {step}: allowed is k or K, plus a number")
    base = k if a else "K" if b else ""
    if not base:
        return str(c)
    return f"({c} + {base})" if c else base


def atom_text(atom: Atom, cohort: str, i: str, k: str) -> str:
    """Return an atom as text for Coq, with names for its cohort, client and step."""
    name, client, step = atom
    if step:
        return f"({_ALONG[name]} {i} {index_text(step, k)})"
    if client:
        return f"({_CLIENTS[name]} {i})"
    if name.startswith("E "):
        _, kind, family = name.split(" ")
        return f"(cm {kind} {_CLIENTS[family]})"
    return f"(xp {cohort})" if name == "x+" else _PLAIN[name]


def known_text(atom: Atom) -> str:
    """Return the proof that an atom is known at the start."""
    text = atom_text(atom, "_", "_", "_").strip("()").split(" ")
    if text[0] == "cm":
        return f"(@start_cm {text[1]} {text[2]} (fun _ => {_KNOWN[text[2]]}))"
    return _KNOWN[text[0]]


def family_text(term: Term) -> str:
    """Return a term as a function of cohort, client and step."""
    i, k, before = "i", "k", []
    if "K" in term[0]:
        before.append("osumv (steps K) (fun k1 => ")
        k = "k1"
    if set(term[0]) & {"M", "S"}:
        before.append(f"osumv {SUMS['M' if 'M' in term[0] else 'S']} (fun i1 => ")
        i = "i1"
    return "fun S i k => " + "".join(before) + atom_text(term[1], "S", i, k) + ")" * len(before)


class Sum(NamedTuple):
    """Sum of a nest: K, M or S, and whether it binds an index of the left and of the right factor."""

    binder: str
    left: bool
    right: bool

    @property
    def used(self) -> bool:
        """Whether the sum binds an index of a factor."""
        return self.left or self.right


class Nest(NamedTuple):
    """Nested sums, the outermost first, of a product of two atoms or of a value."""

    sums: tuple[Sum, ...]
    left: Atom
    right: Atom | None = None

    def text(self, cohort: str = "S", i: str = "i", k: str = "k") -> str:
        """Return the nest as text for Coq; factors that are known at the start are given the empty cohort."""
        before, names = [], ([i, k], [i, k])
        for number, one in enumerate(self.sums):
            name = f"{'k' if one.binder == 'K' else 'i'}{number}"
            sums = SUMS[one.binder].replace(" S)", f" {cohort})")
            before.append(f"osum {sums} (fun {name} => ")
            for side, bound in zip(names, one[1:], strict=True):
                if bound:
                    side[one.binder == "K"] = name
        factors = [self.left] if self.right is None else [self.left, self.right]
        given = "[]" if all(map(at_start, factors)) else cohort
        texts = [atom_text(atom, cohort, *side) for atom, side in zip(factors, names, strict=False)]
        inner = f"val {given} {names[0][0]}" if self.right is None else f"ip {given}"
        return f"({''.join(before)}{inner} {' '.join(texts)}{')' * (len(before) + 1)}"


def of(entry: Entry) -> Nest:
    """Return the canonical nest of an entry: sums of both factors, of the left one, of the right one; K before
    clients."""
    if entry[0] == "value":
        return Nest(tuple(Sum(b, True, False) for b in sorted(entry[1])), entry[2])
    return product(*entry[1:])


def entry(nest: Nest) -> Entry:
    """Return the entry that a nest is, with only the sums that bind an index, and with its factors in order."""
    both, left, right = (
        "".join(sorted(s.binder for s in nest.sums if s[1:] == sides))
        for sides in ((True, True), (True, False), (False, True))
    )
    if nest.right is None:
        return ("value", left, nest.left)
    return ("product", both, *sorted(((left, nest.left), (right, nest.right))))


def product(bound: str, left: Term, right: Term) -> Nest:
    """Return binders around a product of two terms with binders of their own."""
    sums = [Sum(b, _binds(b, left), _binds(b, right)) for b in sorted(bound)]
    sums += [Sum(b, True, False) for b in sorted(left[0])] + [Sum(b, False, True) for b in sorted(right[0])]
    return Nest(tuple(sums), left[1], right[1])


def below(binder: str, one: Entry) -> Nest:
    """Return a binder around an entry's canonical nest."""
    inner, outer = of(one), Sum(binder, True, False)
    if one[0] == "product":
        outer = Sum(binder, *(_binds(binder, (one[1] + bound, atom)) for bound, atom in one[2:]))
    return Nest((outer, *inner.sums), inner.left, inner.right)
