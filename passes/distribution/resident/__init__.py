"""Kernels that read their rows again: the row of a thread, where it waits, and its phases."""
