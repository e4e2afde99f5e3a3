"""Measuring kernels on a GPU, and looking for faster plans."""
