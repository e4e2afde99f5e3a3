"""Values that JAX traces, in ``jax.jit``, ``jax.grad`` and ``jax.vmap``."""

from __future__ import annotations

import sys
from collections.abc import Iterable


def in_jax(xs: Iterable[object]) -> bool:
    """Whether JAX traces one of these."""
    jax = sys.modules.get("jax")
    return jax is not None and any(isinstance(x, jax.core.Tracer) for x in xs)
