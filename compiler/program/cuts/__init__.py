"""Where an array program is cut into kernels: phases, steps, and what crosses between them."""
