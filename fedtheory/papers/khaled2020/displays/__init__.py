"""The printed proof of Theorem 1 as steps, and what they show."""
