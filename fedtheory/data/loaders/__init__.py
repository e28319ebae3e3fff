"""A module for the loaders of each file format."""
