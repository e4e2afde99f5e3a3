"""What other libraries call what warpfold has, for messages: names of functions, and of parameters."""

from __future__ import annotations

from collections.abc import Collection

from .errors import WarpfoldError, error, near
from .trace import caller

NAMES = {
    "absolute": "wf.abs(x)", "fabs": "wf.abs(x)", "arccos": "wf.acos(x)", "arcsin": "wf.asin(x)",
    "arctan": "wf.atan(x)", "arctan2": "wf.atan2(y, x)", "rint": "wf.round(x)", "around": "wf.round(x)",
    "clamp": "wf.clip(x, low, high)", "expit": "wf.sigmoid(x)", "power": "x ** y", "pow": "x ** y",
    "float_power": "x ** y", "add": "x + y", "subtract": "x - y",
    "multiply": "x * y", "true_divide": "wf.divide(x, y)", "floor_divide": "x // y", "mod": "x % y",
    "remainder": "x % y", "divmod": "x // y and x % y", "negative": "-x", "positive": "+x", "matmul": "wf.vecdot(x, y)",
    "bitwise_and": "x & y", "bitwise_or": "x | y", "bitwise_xor": "x ^ y", "bitwise_not": "~x", "invert": "~x",
    "bitwise_left_shift": "x << y", "left_shift": "x << y", "bitwise_right_shift": "x >> y", "right_shift": "x >> y",
    "logical_and": "x & y", "logical_or": "x | y", "logical_not": "~x", "logical_xor": "x ^ y", "equal": "x == y",
    "not_equal": "x != y", "less": "x < y", "less_equal": "x <= y", "greater": "x > y", "greater_equal": "x >= y",
    "conj": "x.conjugate()", "conjugate": "x.conjugate()", "real": "x.real", "imag": "x.imag",
    "astype": "wf.cast(x, dtype)", "relu": "wf.maximum(x, 0)", "fmax": "wf.where(wf.isnan(y) | (x >= y), x, y)",
    "fmin": "wf.where(wf.isnan(y) | (x <= y), x, y)", "amax": "wf.max(x)", "amin": "wf.min(x)", "product": "wf.prod(x)",
    "average": "wf.mean(x)", "nanvar": "wf.var(x, nan='ignore')", "nanstd": "wf.std(x, nan='ignore')",
    "var_mean": "wf.mean_var(x)", "aminmax": "wf.minmax(x)", "inner": "wf.vecdot(x, y)", "arange": "wf.index()",
    "segment_sum": "wf.segment_reduce(x, offsets, 'sum')",
}  # fmt: skip
"""NumPy's, the Array API's and PyTorch's names of functions, and what to write here."""
PARAMETERS = {
    "dim": "axis=", "dims": "axis=", "axes": "axis=", "keepdim": "keepdims=", "keep_dims": "keepdims=",
    "ddof": "correction=", "unbiased": "correction=1 for True and correction=0 for False", "skipna": "nan='ignore'",
    "ignore_nan": "nan='ignore'", "mask": "where=", "num_segments": "ids= with it",
}  # fmt: skip
"""Parameters of NumPy, PyTorch, pandas and JAX, and what to write here."""
SHARED = ("axis", "keepdims", "out", "where", "nan", "determinism", "device", "plan")
"""Parameters that reductions have whatever they compute."""


def missing(name: str, known: Collection[str]) -> WarpfoldError:
    """The error for a name that warpfold does not have."""
    written = NAMES.get(name)
    found = "" if written else near(name, known) or near(name.lower(), known) or near(name.upper(), known)
    remedy = f"write {written}" if written else "correct the name; dir(warpfold) lists all that there are"
    return error("WF175", name=name, near=found, remedy=remedy, where=caller())


def unknown(name: str, key: str, own: Collection[str], *, array: bool) -> WarpfoldError:
    """The error for a parameter ``key`` that the reduction ``name`` does not have.

    ``own`` are those that it has, and ``array`` says whether ``key`` names one of its arrays.
    """
    if array:
        remedy = f"write it behind a *: def {name}(x, *, {key}=...)"
    elif key in PARAMETERS:
        remedy = f"write {PARAMETERS[key]}"
    elif key in SHARED:
        remedy = f"{key}= belongs to calls such as wf.reduce: this one does not take it"
    else:
        remedy = "leave it out or correct it" + near(key, (*own, *SHARED))
    known = " ".join(own) or ("none by name" if array else "none")
    return error("WF127", name=name, parameter=key, known=known, remedy=remedy)
