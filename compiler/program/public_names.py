"""The names of what ``wf`` offers from this folder: for ``__init__.py``, and for messages that name a replacement."""

from __future__ import annotations

from .function_table import TABLE

ELEMENTWISE = (
    *(row.name for row in TABLE if row.doc),
    "bitcast", "ceil", "divide", "floor", "fma", "isinf", "isnan", "maximum", "minimum", "round", "where",
)  # fmt: skip
"""Elementwise functions: those of ``function_table.py``, and the others in ``functions.py``."""
COMPOSITIONS = ("abs", "clip", "isfinite", "reciprocal", "sigmoid", "sign", "square")
"""Elementwise functions made of those: ``compositions.py``."""
PACKING = ("pack", "unpack")
"""Arrays of bits: ``arrays/packing.py``."""
MONOIDS = ("ALL", "ANY", "ARGMAX", "ARGMIN", "COMPENSATED", "LOGSUMEXP", "MAX", "MIN", "PROD", "SUM", "WELFORD")
"""Built-in monoids: ``library/monoids.py``."""
REDUCTIONS = (
    "sum", "prod", "min", "max", "minmax", "ptp", "argmin", "argmax", "any", "all", "count_nonzero", "mean", "var",
    "std", "mean_var", "norm", "logsumexp", "nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanargmin",
    "nanargmax", "dot", "vecdot", "allclose", "array_equal", "describe",
)  # fmt: skip
"""Built-in reductions: ``library/reductions.py``. The monoid SUM alone makes sum, and so on."""
PROGRAMS = (
    "softmax", "softmin", "log_softmax", "layer_norm", "rms_norm", "add_layer_norm", "add_rms_norm", "batch_norm",
    "group_norm", "instance_norm", "normalize", "standardize", "cross_entropy", "nll_loss", "quantize",
    "relu", "relu_backward", "add_relu", "add_relu_backward", "leaky_relu", "leaky_relu_backward", "clip_backward",
    "dropout", "dropout_backward", "batch_norm_backward", "random_bits",
    "cumulative_sum", "cumulative_prod", "cummax", "cummin", "logcumsumexp", "topk",
)  # fmt: skip
"""Built-in programs of arrays: ``library/programs/``."""
STATES = ("partial", "merge", "finish", "update", "reduce_stream")
"""Reductions in parts: ``runtime/states/``."""
STANDARD = (
    "add", "all", "any", "arange", "argmax", "argmin", "asarray", "astype", "bitwise_and", "bitwise_invert",
    "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "broadcast_arrays", "broadcast_to",
    "can_cast", "clip", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "divide", "empty",
    "empty_like", "equal", "expand_dims", "finfo", "flip", "floor_divide", "full", "full_like", "greater",
    "greater_equal", "iinfo", "isdtype", "less", "less_equal", "matrix_transpose", "max", "mean", "min",
    "moveaxis", "multiply", "negative", "not_equal", "ones", "ones_like", "permute_dims", "positive", "pow",
    "prod", "remainder", "reshape", "result_type", "squeeze", "std", "subtract", "sum", "take", "take_along_axis",
    "tril", "triu", "unstack", "var", "vecdot", "zeros", "zeros_like",
)  # fmt: skip
"""The callable part of ``arrays/namespace.py``, which is a namespace of the Array API standard."""
