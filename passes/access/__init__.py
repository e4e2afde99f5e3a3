"""Accesses to memory: addresses, vectors, and what is read at the ends of rows."""
