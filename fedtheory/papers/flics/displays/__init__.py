"""The printed displays of FLICS-OPT (appendices B and C), and steps that repair them."""
