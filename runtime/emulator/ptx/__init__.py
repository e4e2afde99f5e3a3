"""Parses PTX text to modules: tokens, bodies, names, and the source lines from which PTX comes."""
