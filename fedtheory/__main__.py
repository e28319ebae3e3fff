"""``python -m fedtheory``, and the command ``fedtheory``; nothing is imported before it can be interrupted."""

import sys


def main() -> None:
    """Run the command line and exit with its status."""
    try:
        from .cli.statuses import run

        status = run()
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


if __name__ == "__main__":
    main()
