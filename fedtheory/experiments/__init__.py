"""The papers' tables as data, checks of them, and experiment files that run in their likeness.

- `printed_tables`, `comparisons`, `table_checks`, `curves`: printed numbers, and what they do not bear out.
- `schema`, `setting_parts`: experiment files; `work_units`, `sweeps`, `commands`: how they are run, stopped and gone on
with.
- `results`, `overview`, `tracking`: what came out, as a file, as a list, sent to a tracker.
"""
