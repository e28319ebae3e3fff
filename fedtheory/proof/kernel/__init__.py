"""Kernel: theorems on rounds of federated learning, and the axioms and rules that alone make them."""
