"""Colours and their meanings, in every figure and on every page."""

from __future__ import annotations

PRINTED, REPAIRED, EXACT, MEASURED, WORST = "#D55E00", "#009E73", "#000000", "#0072B2", "#CC79A7"
"""The bound of a printed statement, that of a repaired one, an exact value, what was measured, and the exact worst
case. They are five of the eight colours of Okabe and Ito (2008), which people with any kind of colour blindness tell
apart."""

ON_WHITE = {"printed": PRINTED, "repaired": REPAIRED, "exact": EXACT, "measured": MEASURED, "worst": WORST}
"""Colours by meaning, on a light page."""

ON_BLACK = ON_WHITE | {"exact": "#FFFFFF"}
"""Colours by meaning, on a dark page, where black becomes white."""


def style_sheet() -> str:
    """Return the colours as CSS variables, light and dark.

    >>> print(style_sheet().splitlines()[1])
    :root { --printed: #D55E00; --repaired: #009E73; --exact: #000000; --measured: #0072B2; --worst: #CC79A7; }
    """
    light, dark = (
        " ".join(f"--{name}: {colour};" for name, colour in colours.items()) for colours in (ON_WHITE, ON_BLACK)
    )
    return (
        "/* One meaning per colour, as in the figures; written from fedtheory/report/colours.py. */\n"
        f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
    )
