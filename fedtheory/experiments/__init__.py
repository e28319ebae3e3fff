"""The papers' tables as data, checks of them, and experiment files that run in their likeness.

- `printed_tables`, `comparisons`, `table_checks`, `curves`: printed numbers, and what they do not bear out.
- `schema`, `setting_parts`: experiment files; `work_units`, `sweeps`, `commands`: how they are run, stopped and gone on
with.
- `results`, `overview`: what came out, as a file, as a list; `tracked_settings`: what runs are called in a tracker.
"""
