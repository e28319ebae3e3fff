"""From theorems of the kernel to derivations, in the vocabulary of claims: a module for each kind of theorem."""
