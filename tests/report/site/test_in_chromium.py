"""The pages in a browser: they load alone, and what they compute is what Python computes."""

from __future__ import annotations

import io
import json
import math
import random
import re

import numpy as np
import pytest
from PIL import Image

from fedtheory.claims.arithmetic import compiled_slack, compiled_term
from fedtheory.claims.schedules import by_rule
from fedtheory.papers import all_claims, claim
from fedtheory.quantities import ORDERED_PAIRS, QUANTITIES
from fedtheory.report.site import published_evidence
from fedtheory.report.site.calculator import fields
from fedtheory.report.site.pages import address
from tests.report.site import chromium

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium.program() is None, reason=f"no browser: none of {', '.join(chromium.NAMES)} is there"),
]

RELATIVE = 1e-12
"""A few dozen operations, each off by less than 1e-15 relatively, with little cancellation at the points drawn."""


SET_AND_READ = """((points) => points.map((point) => {
  const root = document.querySelector("[data-calculator]");
  const inputs = [...root.querySelectorAll("[data-field]")];
  if (point.slide !== undefined) {
    const slider = root.querySelectorAll("[data-slider]")[point.slide];
    slider.value = point.to;
    slider.dispatchEvent(new Event("input"));
  } else if (inputs.length) {
    for (const input of inputs) input.value = point.values[input.dataset.field] ?? "";
    inputs[0].dispatchEvent(new Event("input"));
  }
  const all = (kind) => Object.fromEntries([...root.querySelectorAll(`[data-${kind}]`)].map(
    (cell) => [cell.dataset[kind], cell.dataset.value]));
  return {values: Object.fromEntries(inputs.map((input) => [input.dataset.field, input.value])),
          wrong: [...root.querySelectorAll("[data-complaint]")].map((cell) => cell.textContent).join(""),
          total: all("total"), terms: all("terms"), slack: all("slack"), chosen: all("chosen"), bound: all("bound")};
}))"""


def points_of(statement, found):
    """Values of these fields: as they stand at first, moved at random, with zeros, and far out."""
    draw = random.Random(statement.ref)
    start = {field.name: 1.0 if field.value is None else field.value for field in found}
    moved = [{name: allowed(name, value * 2 ** draw.uniform(-2, 2), draw) for name, value in start.items()}
             for _ in range(2)]  # fmt: skip
    free = {f.name: f.quantity.lower == 0 and not f.quantity.positive and not f.quantity.integer for f in found}
    zeros = {name: 0.0 if free[name] and draw.random() < 0.6 else value for name, value in moved[0].items()}
    large = {f.name for f in found if math.isinf(f.quantity.upper) and not f.quantity.integer}
    far = {name: allowed(name, value * 10 ** draw.choice((-150, -40, 0, 40)), draw) if name in large else value
           for name, value in moved[1].items()}  # fmt: skip
    if any(map(by_rule, statement.choices.values())):  # whose rational numbers have only so many digits
        return [start, *moved, zeros]
    return [start, *moved, zeros, far]


def allowed(name, value, draw):
    known = QUANTITIES[name]
    if known.upper == 1:
        return draw.random() or 0.5
    if known.integer:
        return float(max(round(value), known.lower))
    return max(value, known.lower) if math.isfinite(known.lower) else value * draw.choice((-1, 1))


def in_order(values):
    """With what may not exceed another quantity cut to it."""
    for small, large in ORDERED_PAIRS:
        if small in values and large in values:
            values[small] = min(values[small], values[large])
    return values


def exact_text(value):
    return repr(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)


def same(told, expected):
    """Whether the page's number is Python's."""
    expected = float(expected)
    told = {"Infinity": math.inf, "-Infinity": -math.inf}.get(told) or float(told)
    return (
        told == expected
        or (math.isnan(told) and math.isnan(expected))
        or abs(told - expected) <= RELATIVE * abs(expected)
    )


def differences(statement, told):
    """Where the page's numbers are not Python's, by name."""
    values = {name: float(text) for name, text in told["values"].items() if text}
    bound = statement.evaluate(**values)
    chosen = {name: bound.quantities[name] for name, choice in statement.choices.items() if not by_rule(choice)}
    numbers = {name: np.asarray(value, dtype=float)[()] for name, value in bound.quantities.items() if name not in
               statement.choices or name in chosen}  # fmt: skip
    expected = {
        "terms": bound.terms, "slack": bound.slack, "chosen": chosen, "total": {"value": bound.value},
        "bound": {name: numbers[name] for name in statement.bound},
    }  # fmt: skip
    if statement.functional.expression is not None:
        expected["total"]["left"] = left_side(statement.functional.expression, numbers)
    return {
        (kind, name): (told[kind][name], value) for kind, entries in expected.items() for name, value in entries.items()
        if not (told[kind][name] == "" if value is None else same(told[kind][name], value))
    }  # fmt: skip


def left_side(expression, numbers):
    """A left side of values; no number where it is undefined, for which terms and slacks have different values."""
    with np.errstate(all="ignore"):
        above, below = compiled_term(expression)(numbers), compiled_slack(expression)(numbers)
    return above if above == below else math.nan


def is_too_wide(page):
    return page.run("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def test_every_calculator_computes_what_python_computes_on_a_page_that_fits_a_narrow_window(site, quiet):
    quiet.look(400, dark=True)
    wrong = {}
    for statement in all_claims():
        quiet.load(site / address(statement.ref))
        assert not is_too_wide(quiet), statement.ref
        found = fields(statement, {})
        points = [{"values": {n: exact_text(x) for n, x in in_order(p).items()}} for p in points_of(statement, found)]
        points += [{"slide": 0, "to": to} for to in (310, 770) if found]
        for told in quiet.run(f"{SET_AND_READ}({json.dumps(points)})"):
            if told["wrong"]:  # a slider that passes what another quantity allows
                continue
            if off := differences(statement, told):
                wrong[statement.ref] = off
    assert wrong == {}


READ = "document.querySelector('[data-total=value]').dataset.value"


def test_a_key_on_a_slider_moves_the_number(site, quiet):
    quiet.load(site / address("fast.thm2@corrected"))
    before = float(quiet.run(READ))
    quiet.run("document.querySelector('[data-slider=local_lr]').focus()")
    for _ in range(3):
        quiet.press("ArrowRight")
    moved = quiet.run("document.querySelector('[data-field=local_lr]').value")
    values = quiet.run("Object.fromEntries([...document.querySelectorAll('[data-field]')].map("
                       "(e) => [e.dataset.field, e.value]))")  # fmt: skip
    expected = claim("fast.thm2@corrected").evaluate(**{n: float(v) for n, v in values.items() if v})
    assert values["local_lr"] == moved and float(quiet.run(READ)) != before
    assert same(quiet.run(READ), expected.value)
    points = quiet.run("document.querySelector('[data-plot] polyline').getAttribute('points').split(' ').length")
    assert points > 50


def test_what_is_not_allowed_is_said_and_not_computed(site, quiet):
    quiet.load(site / address("fast.thm2@main"))

    def told(name, text):
        field = f"document.querySelector('[data-field={name}]')"
        quiet.run(f"{field}.value = {json.dumps(text)}; {field}.dispatchEvent(new Event('input'))")
        return quiet.run(f"document.querySelector('[data-complaint={name}]').textContent"), quiet.run(READ)

    for name, text in {"cohort": "1.5", "local_lr": "0", "snapshot_probability": "2", "rounds": "<b>"}.items():
        start = quiet.run(f"document.querySelector('[data-field={name}]').value")
        said, value = told(name, text)
        assert said == f"allowed is {QUANTITIES[name].allowed}" and value == ""
        assert told(name, start)[0] == ""
    assert told("strong_convexity", "1e9")[0] == "allowed is at most smoothness"


def test_a_reading_changes_its_hypothesis(site, quiet):
    statement = claim("safari.thm4@main")
    quiet.load(site / address(statement.ref))
    values = {name: 0.5 if QUANTITIES[name].upper == 1 else 2.0 for name in statement.quantities
              if name not in statement.choices}  # fmt: skip
    values |= {"server_lr": 0.01}
    texts = json.dumps({name: exact_text(value) for name, value in values.items()})
    quiet.run(f"for (const [n, v] of Object.entries({texts})) document.querySelector(`[data-field=${{n}}]`).value = v")
    seen = set()
    for option in next(a for a in statement.ambiguities if a.name == "q-condition").options:
        quiet.run(f"""(() => {{ const select = document.querySelector('[data-reading="q-condition"]');
            select.value = {json.dumps(option)}; select.dispatchEvent(new Event("change")); }})()""")
        told = quiet.run("document.querySelector('[data-slack=q_condition]').dataset.value")
        assert same(told, statement.evaluate(reading={"q-condition": option}, **values).slack["q_condition"])
        seen.add(told)
    assert len(seen) > 2


INJECTED = """<script>window.harmed = ["script"]</script><img src="missing.png" onerror="window.harmed = ['handler']">
<a id="bad" href="javascript:window.harmed = ['address']">a</a><style>main { display: none }</style>
<img id="image" src="https://example.org/image.png"><script src="https://example.org/script.js"></script>
<link rel="stylesheet" href="https://example.org/style.css"><iframe src="https://example.org/frame"></iframe>
<object data="https://example.org/object"></object>"""
AFTER = """(async () => {
  document.getElementById("bad").click();
  const asked = await fetch("https://example.org/asked").then(() => "answered", (error) => "refused");
  return {harmed: window.harmed ?? null, asked: asked, shown: getComputedStyle(document.querySelector("main")).display};
})()"""


@pytest.mark.parametrize("name", ["index.html", "claim"])
def test_what_is_injected_does_nothing_and_what_a_page_has_works(site, page, name):
    """Whatever stands in the content of a page; without its policy, it would."""
    path = site / (address("fast.thm2@main") if name == "claim" else name)
    text, injected = path.read_text(), path.with_name("injected.html")
    kinds = ("/script.js", "/style.css", "/'", "/image.png", "/object", "/asked")  # of a frame, where it is from
    inline = ("inline script", "inline event handler", "inline style", "JavaScript URL")
    try:
        injected.write_text(re.sub(r"(<main[^>]*>)", lambda found: found[0] + INJECTED, text, count=1))
        assert INJECTED in injected.read_text()
        page.errors.clear(), page.requests.clear(), page.load(injected)
        assert page.run(AFTER) == {"harmed": None, "asked": "refused", "shown": "block"}
        refused = [error for error in page.errors if "Content Security Policy" in error]
        assert all(any(f"https://example.org{kind}" in error for error in refused) for kind in kinds), page.errors
        assert all(any(kind in error for error in refused) for kind in inline), refused
        free = re.sub(r"<meta[^>]*Content-Security-Policy[^>]*>", "", injected.read_text())
        injected.write_text(free.replace("https://example.org", "http://127.0.0.1:9"))
        page.errors.clear(), page.load(injected)
        assert page.run(AFTER)["harmed"] and not any("Security Policy" in error for error in page.errors)
    finally:
        injected.unlink()
    page.errors.clear(), page.requests.clear(), page.load(path)
    assert page.errors == [] and not [each for each in page.requests if not each.startswith(("file:", "data:"))]


def test_the_filters_filter(site, quiet):
    quiet.load(site / "index.html")
    rows = [(r, f"{r['id']}@{r['edition']}") for r in published_evidence.rows().values()]
    shown = """[...document.querySelectorAll("[data-rows] tbody tr:not([hidden]) a")].map((a) => a.textContent)"""

    def filtered(**chosen):
        quiet.run(f"""(() => {{ const form = document.querySelector("[data-filters]");
            for (const name of ["paper", "verdict", "kind", "text"]) form.elements[name].value = "";
            for (const [name, value] of Object.entries({json.dumps(chosen)})) form.elements[name].value = value;
            form.dispatchEvent(new Event("input")); }})()""")
        assert quiet.run("document.querySelector('[data-count]').value").startswith(f"{len(quiet.run(shown))} of ")
        return set(quiet.run(shown))

    assert filtered() == {ref for _, ref in rows}
    assert filtered(verdict="refuted") == {ref for row, ref in rows if row["verdict"] == "refuted"}
    assert filtered(paper="fedau", kind="measured") == {
        ref for row, ref in rows if ref.startswith("fedau.") and row["evidence"]["measured"]
    }
    assert filtered(text="Snapshot ROUND") == {"fast.eq13@main"} | filtered(text="round snapshot")
    assert filtered(text="no such words") == set()
    assert not quiet.run("document.querySelector('[data-nothing]').hidden")
    quiet.run("document.querySelector('[data-reset]').click()")
    assert len(quiet.run(shown)) == len(rows)
    quiet.load(site / "claims/fast.thm1@main.html")
    quiet.load(site / "index.html", "#verdict=needs")
    assert set(quiet.run(shown)) == {ref for row, ref in rows if row["verdict"] == "needs"}


def test_a_film_plays_to_its_end(site, quiet):
    quiet.load(site / address("fast.thm1@main"))
    told = "document.querySelector('[data-told]').value"
    assert quiet.run(told).startswith("0: ")
    quiet.run("document.querySelector('[data-play]').click()")
    waits = f"const at = () => {told}.startsWith('0: ') ? setTimeout(at, 20) : done(true); at();"
    assert quiet.run(f"new Promise((done) => {{ {waits} }})")
    quiet.run("""(() => { const slider = document.querySelector("[data-frame]");
        slider.value = slider.max; slider.dispatchEvent(new Event("input")); })()""")
    assert quiet.run(told) == "100000: left 0.05491, right 0.01669"
    assert quiet.run("document.querySelector('[data-play]').textContent") == "Play"


def test_every_other_page_loads_alone_and_fits_a_narrow_window(site, quiet):
    quiet.look(400)
    for path in sorted(site.rglob("*.html")):
        if path.parent.name != "claims":
            quiet.load(path)
            assert not is_too_wide(quiet), path.name


def test_everything_can_be_reached_with_the_keyboard(site, quiet):
    quiet.load(site / "index.html")
    reached = []
    for _ in range(12):
        quiet.press("Tab")
        reached.append(quiet.run("document.activeElement.name || document.activeElement.textContent"))
    assert reached[0] == "To the content"
    assert reached[5:9] == ["paper", "verdict", "kind", "text"]
    assert reached[9:11] == ["fast.lemma1@main", "fast.lemma2@main"]
    unnamed = """[...document.querySelectorAll("input, select, button")].filter((e) => !(e.labels?.length
        || e.getAttribute("aria-label") || e.textContent.trim())).length"""
    assert quiet.run(unnamed) == 0
    quiet.load(site / address("fast.thm1@main"))
    assert quiet.run(unnamed) == 0


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (400, False), (400, True)])
def test_screenshots_can_be_made(site, quiet, width, dark):
    quiet.look(width, dark)
    for name in ("index.html", address("fast.thm1@main")):
        quiet.load(site / name)
        picture = Image.open(io.BytesIO(quiet.screenshot(whole=False)))
        assert picture.size == (width, 800)
        corner = picture.convert("L").getpixel((width - 2, 780))
        assert corner < 60 if dark else corner > 200


READABLE = """() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = parts(colour).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const page = getComputedStyle(document.documentElement).getPropertyValue("--page").trim();
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor, [, , , alpha = 1] = parts(colour);
      if (alpha > 0) return colour;
    }
    return page;
  };
  const found = {}, note = (what, value) => { found[what] = Math.min(found[what] ?? Infinity, value); };
  const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || element.closest("script, option, noscript")) continue;
    const style = getComputedStyle(element), inside = element.closest("svg");
    note(`text ${element.tagName} ${element.className.baseVal ?? element.className}`,
         ratio(inside && element.tagName === "text" ? style.fill : style.color, behind(inside ?? element)));
  }
  for (const line of document.querySelectorAll(".curve:not(.pale), .optimum, circle, .bar")) {
    const style = getComputedStyle(line), colour = style.stroke === "none" ? style.fill : style.stroke;
    note(`line ${line.getAttribute("class")}`, ratio(colour, behind(line.closest("svg"))));
  }
  return found;
}"""
PAGES = ("index.html", "claims/fast.thm1@main.html", "claims/fast.thm2@sharp.html", "claims/flics.thm1@main.html",
         "algorithms/fedau.html", "processes/Markov.html", "experiments.html")  # fmt: skip


@pytest.mark.parametrize("dark", [False, True])
def test_texts_and_lines_can_be_told_from_what_is_behind_them(site, quiet, dark):
    """By the ratios of luminances that the Web Content Accessibility Guidelines ask of text and of graphics."""
    quiet.look(1280, dark)
    seen = set()
    for name in PAGES:
        quiet.load(site / name)
        found = quiet.run(f"({READABLE})()")
        assert not {what: value for what, value in found.items() if value < (4.5 if what.startswith("text") else 3)}
        seen |= {what.split()[0] + what.split()[-1] for what in found}
    assert {"lineprinted", "lineexact", "linemodel", "linethere", "linedrawn"} <= seen


def test_formulas_are_not_clipped_in_a_narrow_window(site, quiet):
    quiet.look(400)
    quiet.load(site / address("fast.thm2@sharp"))
    smallest, clipped = quiet.run("""(() => {
        const pieces = [...document.querySelectorAll(".piece")];
        const sizes = pieces.map((piece) => (piece.style.fontSize ? parseFloat(piece.style.fontSize) : 100));
        return [Math.min(...sizes), pieces.filter((p, i) => sizes[i] > 50 && p.scrollWidth > p.clientWidth + 1).length];
    })()""")
    assert smallest < 100 and clipped == 0


@pytest.mark.parametrize("ref", ["flics.thm1@main", "safari.thm3@main", "fedau.eqB_6_8.b@main"])
def test_films_of_selection_learning_and_weights_play(site, quiet, ref):
    quiet.load(site / address(ref))
    quiet.run("""(() => { const slider = document.querySelector("[data-frame]");
        slider.value = slider.max; slider.dispatchEvent(new Event("input")); })()""")
    (found,) = [found for found in published_evidence.instances(ref)[:1]]
    left = float(found["data"]["left"])
    assert f"left {left:.4g}" in quiet.run("document.querySelector('[data-told]').value")
    bars = "[...document.querySelectorAll('[data-points] .bar.drawn')]"
    widths = quiet.run(f"{bars}.map((bar) => Number(bar.getAttribute('width')))")
    assert widths and all(width >= 0 for width in widths)
