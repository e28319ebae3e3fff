"""Compiled loops, one module each computation: what runs on numpy arrays where torch or numpy would take many passes."""
