"""Products and values of a saved proof as nested sums over clients and steps, and as text for Coq."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .scalar_text import NotExported

Atom = tuple[str, bool, tuple[int, ...]]
"""(name, whether of a client, step a k + b K + c as (a, b, c), or empty)."""

Term = tuple[str, Atom]
"""Binders and atom."""

Entry = tuple
"""("one",), ("value", binders, atom) or ("product", binders, term, term)."""

ONE: Entry = ("one",)
_PLAIN = {"x": "x", "x*": "xs", "x+": "xp", "N_server": "Ns"}
_CLIENTS = {"g_start": "g_start", "g_opt": "g_opt"}
_ALONG = {"x": "X", "g": "G", "N": "N"}
_KNOWN = {"x": "start_x", "xs": "start_xs", "g_start": "(start_g _)", "g_opt": "(start_o _)"}
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


def open_client(term: Term) -> bool:
    """Whether the client i is free in a term."""
    return term[1][1] and not set(term[0]) & {"M", "S"}


def open_step(term: Term) -> bool:
    """Whether the step k is free in a term."""
    return bool(term[1][2]) and term[1][2][0] != 0 and "K" not in term[0]


def entry_known(entry: Entry) -> bool:
    """Whether an entry is known at the round's start: it has no cohort's mean and no later vector."""
    if entry == ONE:
        return True
    if entry[0] == "value":
        return "S" not in entry[1] and at_start(entry[2])
    return all(at_start(t[1]) for t in entry[2:]) and "S" not in entry[1] + entry[2][0] + entry[3][0]


def open_in(entry: Entry, index: str) -> bool:
    """Whether the client i, or the step k, is free in an entry."""
    if entry == ONE or set(entry[1]) & ({"K"} if index == "k" else {"M", "S"}):
        return False
    if entry[0] == "value":
        return index == "i" or (bool(entry[2][2]) and entry[2][2][0] != 0)
    return any((open_step if index == "k" else open_client)(t) for t in entry[2:])


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


@dataclass(frozen=True)
class Sum:
    """Sum of a nest: K, M or S, and whether it binds an index of the left and of the right factor."""

    binder: str
    left: bool
    right: bool

    @property
    def used(self) -> bool:
        """Whether the sum binds an index of a factor."""
        return self.left or self.right


@dataclass(frozen=True)
class Nest:
    """Nested sums, the outermost first, of a product of two atoms or of a value."""

    sums: tuple[Sum, ...]
    left: Atom
    right: Atom | None = None

    def canonical(self) -> Nest:
        """Return the nest with only the sums that bind an index, in the order of ``of``, and with its factors in
        order."""
        swapped = self.right is not None and self._keys(False) > self._keys(True)
        sums = [Sum(s.binder, s.right, s.left) for s in self.sums] if swapped else list(self.sums)
        left, right = (self.right, self.left) if swapped else (self.left, self.right)
        assert left
        return Nest(tuple(sorted((s for s in sums if s.used), key=_place)), left, right)

    def _keys(self, swapped: bool) -> tuple:
        """(left term, right term): what a canonical form has in order."""
        entry = _entry(replace(self, sums=tuple(s for s in self.sums if s.used)))
        return (entry[3], entry[2]) if swapped else (entry[2], entry[3])

    def text(self, cohort: str = "S", i: str = "i", k: str = "k") -> str:
        """Return the nest as text for Coq; factors that are known at the start are given the empty cohort."""
        before, names = [], {"l": [i, k], "r": [i, k]}
        for number, one in enumerate(self.sums):
            name = f"{'k' if one.binder == 'K' else 'i'}{number}"
            sums = SUMS[one.binder].replace(" S)", f" {cohort})")
            before.append(f"osum {sums} (fun {name} => ")
            for side, bound in (("l", one.left), ("r", one.right)):
                if bound:
                    names[side][one.binder == "K"] = name
        if self.right is None:
            given = "[]" if at_start(self.left) else cohort
            inner = f"val {given} {names['l'][0]} {atom_text(self.left, cohort, *names['l'])}"
        else:
            given = "[]" if at_start(self.left) and at_start(self.right) else cohort
            sides = atom_text(self.left, cohort, *names["l"]), atom_text(self.right, cohort, *names["r"])
            inner = f"ip {given} {sides[0]} {sides[1]}"
        return "(" + "".join(before) + inner + ")" * (len(before) + 1)


def _place(one: Sum) -> tuple:
    return (one.left != one.right, not one.left, one.binder != "K")


def of(entry: Entry) -> Nest:
    """Return the canonical nest of an entry: sums of both factors, of the left one, of the right one; K before
    clients."""
    if entry[0] == "value":
        return Nest(tuple(Sum(b, True, False) for b in sorted(entry[1])), entry[2])
    _, bound, left, right = entry
    sums = [Sum(b, True, True) for b in sorted(bound)]
    sums += [Sum(b, True, False) for b in sorted(left[0])] + [Sum(b, False, True) for b in sorted(right[0])]
    return Nest(tuple(sums), left[1], right[1])


def _entry(nest: Nest) -> Entry:
    if nest.right is None:
        return ("value", "".join(sorted(s.binder for s in nest.sums)), nest.left)
    both, left, right = (
        "".join(sorted(s.binder for s in nest.sums if (s.left, s.right) == sides))
        for sides in ((True, True), (True, False), (False, True))
    )
    return ("product", both, (left, nest.left), (right, nest.right))


def entry(nest: Nest) -> Entry:
    """Return the entry of which this is the canonical nest."""
    return _entry(nest.canonical())


def outside(bound: str, left: Term, right: Term | None) -> list[Sum]:
    """Return the sums of binders around a product (or a value) of two terms, with what they bind."""
    made = []
    for binder in sorted(bound):
        opened = open_step if binder == "K" else open_client
        made.append(Sum(binder, opened(left), right is not None and opened(right)))
    return made


def product(bound: str, left: Term, right: Term) -> Nest:
    """Return binders around a product of two terms with binders of their own."""
    sums = outside(bound, left, right)
    sums += [Sum(b, True, False) for b in sorted(left[0])] + [Sum(b, False, True) for b in sorted(right[0])]
    return Nest(tuple(sums), left[1], right[1])


def below(binder: str, one: Entry) -> Nest:
    """Return a binder around an entry's canonical nest."""
    inner = of(one)
    bound = one[1] if one[0] == "value" else None
    if one[0] == "value":
        free = Sum(binder, binder == "K" or not set(bound or "") & {"M", "S"}, False)
        return Nest((free, *inner.sums), inner.left)
    term = (one[1] + one[2][0], one[2][1]), (one[1] + one[3][0], one[3][1])
    (outer,) = outside(binder, *term)
    return Nest((outer, *inner.sums), inner.left, inner.right)
