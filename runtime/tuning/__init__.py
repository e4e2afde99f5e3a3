"""Measures kernels on a GPU, and searches for faster plans."""
