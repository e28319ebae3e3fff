"""The printed displays of FAST (appendix A.1 to A.3), and steps that repair them."""
