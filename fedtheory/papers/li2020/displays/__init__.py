"""The printed proofs of Theorems 1 to 3 as steps, and what they show."""
