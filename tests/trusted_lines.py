"""Lines that a verdict `proved` of the kernel's rests on, by file: `python -m tests.trusted_lines` lists them.

The kernel's axioms and rules are trusted, and what says that a theorem is a claim. What looks for proofs is not, nor
what writes them down: a wrong answer of theirs is refused. The independent checker is the second lock: it shares no
line with these.
"""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

PROOF = Path(__file__).parent.parent / "fedtheory" / "proof"

SEARCH = {"kernel/tactics.py", "kernel/sample_points.py"}
"""Files of the kernel that look for what rules are asked for, or for a point at which a sign fails."""

WRITING = {"kernel/saved_theorems.py", "kernel/saved_claims.py"}
"""Files of the kernel that write down what is proved; a claim is `proved` only if the checker finds it in what they
wrote."""

GOALS = (
    "claim_goals.py", "answer_goals.py", "weight_goals.py", "claim_theorems.py", "sample_claims.py",
    "algorithm_match.py",
)  # fmt: skip
"""What says that a theorem is a claim, and about which rounds."""


def trusted() -> tuple[Path, ...]:
    """The files of the kernel, and those that compare its theorems with claims."""
    kernel = (file for file in sorted((PROOF / "kernel").glob("*.py")) if file.stat().st_size)
    own = tuple(file for file in kernel if f"kernel/{file.name}" not in SEARCH | WRITING and file.name != "__init__.py")
    return (*own, *(PROOF / name for name in GOALS))


def code_lines(file: Path) -> int:
    """How many of a file's lines are code: neither empty, nor comments, nor docstrings."""
    text = file.read_text(encoding="utf-8")
    said: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            said |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    held = {n for t in tokens if t.type not in skipped for n in range(t.start[0], t.end[0] + 1)}
    return len(held - said)


def proofs() -> tuple[Path, ...]:
    """All files on proofs, the checker's and the papers' too."""
    return tuple(sorted([*PROOF.rglob("*.py"), *PROOF.parent.glob("papers/*/proofs/*.py")]))


def table() -> list[str]:
    """The files with their lines, and those that are code, and the sums: of these, and of all proofs."""
    counts = {file: (len(file.read_text(encoding="utf-8").splitlines()), code_lines(file)) for file in proofs()}
    rows = [(str(file.relative_to(PROOF)), *counts[file]) for file in trusted()]
    for name, files in (("all of these", trusted()), ("all proofs", proofs())):
        rows.append((name, *(sum(counts[file][i] for file in files) for i in (0, 1))))
    return [f"{name:<40} {lines:>6} {code:>6}" for name, lines, code in rows]


if __name__ == "__main__":
    print("\n".join([f"{'file':<40} {'lines':>6} {'code':>6}", *table()]))
