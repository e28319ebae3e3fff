"""Compiled loops, one module for each computation.

Each module names the line of torch or numpy that its loops replace. The line needs several passes over memory, or a
call for every step, where the loop needs one.
"""
