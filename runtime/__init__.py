"""From a call to its result: arrays, prepared reductions, the cache of compiled kernels, and the backends."""
