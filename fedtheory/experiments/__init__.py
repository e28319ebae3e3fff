"""The papers' tables as data, checks of them, and experiment files that run in their likeness.

- `tables`, `comparisons`, `checks`, `curves`: printed numbers, and what they do not bear out.
- `schema`, `parts`: experiment files; `units`, `sweeps`, `commands`: how they are run, stopped and gone on with.
- `results`, `overview`, `tracking`: what came out, as a file, as a list, sent to a tracker.
"""
