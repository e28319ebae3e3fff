"""What is known, as pages that a browser opens from a folder: statements, evidence, proofs, calculators.

- `pages`: which pages there are, and what is written; `more`: those besides the claims'.
- `claims`: the page of a claim, of `evidence` (scorecard and certificates), `instances` (with the rounds of a run) and
  `calculator`.
- `mathml` and `javascript`: formulas as browsers draw and compute them.
- `refereed`: the page of anyone's theorem.

Pages say what the published scorecard and certificates say; nothing is verified anew.
"""

from .pages import write

__all__ = ["write"]
