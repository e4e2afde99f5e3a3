"""Accesses to memory: offsets, vector loads and stores, the ends of rows, and states that threads exchange."""
