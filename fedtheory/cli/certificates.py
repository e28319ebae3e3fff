"""Certificates of worst cases, on the command line."""

from __future__ import annotations

import sys
from typing import Any

import typer


def is_certificate(data: dict[str, Any]) -> bool:
    """Whether a file's content says that it is one."""
    from ..worstcase.certificates import WHAT

    return data.get("what") == WHAT


def replay_certificate(data: dict[str, Any], json: bool) -> None:
    """Verify a certificate and print what it proves; exit status 1 if it proves nothing."""
    from ..printing import print_json, print_tree
    from ..worstcase.certificates import Certificate, CertificateError

    certificate = Certificate.from_json(data)
    try:
        certificate.verify()
    except CertificateError as error:
        print(f"fedtheory: replay failed: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    said = {
        "proved": certificate.statement,
        "for": str(certificate.problem.functions),
        "contraction": str(certificate.contraction),
        "additive": str(certificate.additive),
    }
    print_json(said) if json else print_tree(said)
