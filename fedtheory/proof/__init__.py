"""Deciding the steps of a paper's proof: identities, and inequalities by certificates that are checked anew."""
