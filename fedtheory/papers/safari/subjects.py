"""How examples of SAFARI's runs and rounds are drawn and read."""

from ...subjects import named

SUBJECTS = {"safari": named("safari")}
