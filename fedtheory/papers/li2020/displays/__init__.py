"""Steps of the printed proofs of Theorems 1 to 3, and what they show."""
