"""``python -m fedtheory.cli``."""

from ..__main__ import main

main()
