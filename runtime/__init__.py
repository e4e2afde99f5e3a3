"""Arrays in and out, the cache of compiled kernels, and the backends that run them."""
