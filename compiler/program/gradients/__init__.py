"""Gradients: the reverse mode on the graph of a program of arrays."""
