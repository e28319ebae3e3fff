"""Exact moments of weighted updates and of estimated weights (FedAU, Algorithms 1 and 2)."""
