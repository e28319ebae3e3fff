"""Evidence for and against claims: units, exact errors, searches, measurements; and the verdicts they give."""
