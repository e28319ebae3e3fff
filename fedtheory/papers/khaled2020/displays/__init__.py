"""Steps of the printed proof of Theorem 1, and what they show."""
