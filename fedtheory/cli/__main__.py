"""``python -m fedtheory.cli``."""

from . import main

main()
