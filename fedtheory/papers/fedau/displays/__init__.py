"""The printed displays of FedAU (appendix B) that do not hold; what repairs them is a theorem of the kernel, or beside
them."""
