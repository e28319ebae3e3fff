"""Loaders of data sets, a module for each file format."""
