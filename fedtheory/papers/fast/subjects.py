"""How examples of FAST's runs and rounds are drawn and read."""

from ...subjects import named

SUBJECTS = {"fast": named("fast")}
