"""How examples of FedAU's runs and rounds are drawn and read."""

from ...subjects import named

SUBJECTS = {"fedau": named("fedau")}
