"""PTX text to modules: tokens, bodies, names, and where a line comes from."""
