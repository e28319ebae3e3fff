"""Pages that a browser opens from a folder: statements, evidence, proofs, calculators.

- `pages`: which pages there are, and what is written; `further_pages`: those besides the claims'.
- `claim_page`: the page of a claim, of `published_evidence` (scorecard and certificates), `instance_pages` (with the
  rounds of a run) and `calculator`.
- `mathml` and `javascript`: formulas as browsers draw and compute them.
- `refereed_page`: the page of anyone's theorem.

Pages say what the published scorecard and certificates say; nothing is verified anew.
"""

from .pages import write

__all__ = ["write"]
