"""Two programs of docs/pages: the gradient of layer norm, and a transposed copy.

warpfold explain examples/gallery.py:layer_norm_gradient --shape 4096x1024 --shape 4096x1024 --shape 1024
warpfold page examples/gallery.py:transposed --shape 64x64 --dtype f16 -o transposed.html
"""

from __future__ import annotations

from typing import Any

import warpfold as wf


@wf.program
def layer_norm_gradient(dy: Any, x: Any, weight: Any) -> Any:
    """The gradients of x and of weight, for the gradient of the result."""
    return wf.vjp(wf.layer_norm)(dy, x, weight)


@wf.program
def transposed(x: Any) -> Any:
    """A copy of a matrix whose rows are the columns of ``x``."""
    return x.T
