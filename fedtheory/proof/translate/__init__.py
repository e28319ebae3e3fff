"""Derivations from theorems of the kernel, in the vocabulary of claims: a module for each kind of theorem."""
