"""The printed displays of SAFARI (section 3, appendix A), and steps that repair them."""
