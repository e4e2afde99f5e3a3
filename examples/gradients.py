"""The gradient of layer norm as a program of its own.

warpfold explain examples/gradients.py:layer_norm_gradient --shape 4096x1024 --shape 4096x1024 --shape 1024
warpfold page examples/gradients.py:layer_norm_gradient --shape 16x128 --shape 16x128 --shape 128 -o page.html
"""

from __future__ import annotations

from typing import Any

import warpfold as wf


@wf.program
def layer_norm_gradient(dy: Any, x: Any, weight: Any) -> Any:
    """The gradients of x and of weight, for the gradient of the result."""
    return wf.vjp(wf.layer_norm)(dy, x, weight)
