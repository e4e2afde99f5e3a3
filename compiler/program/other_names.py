"""Names from other libraries: functions, methods and parameters, and what to write here."""

from __future__ import annotations

NAMES = {
    "absolute": "wf.abs(x)", "fabs": "wf.abs(x)", "arccos": "wf.acos(x)", "arcsin": "wf.asin(x)",
    "arctan": "wf.atan(x)", "arctan2": "wf.atan2(y, x)", "rint": "wf.round(x)", "around": "wf.round(x)",
    "clamp": "wf.clip(x, low, high)", "expit": "wf.sigmoid(x)", "power": "x ** y", "pow": "x ** y",
    "float_power": "x ** y", "add": "x + y", "subtract": "x - y",
    "multiply": "x * y", "true_divide": "wf.divide(x, y)", "floor_divide": "x // y", "mod": "x % y",
    "remainder": "x % y", "divmod": "x // y and x % y", "negative": "-x", "positive": "+x",
    "bitwise_and": "x & y", "bitwise_or": "x | y", "bitwise_xor": "x ^ y", "bitwise_not": "~x", "invert": "~x",
    "bitwise_left_shift": "x << y", "left_shift": "x << y", "bitwise_right_shift": "x >> y", "right_shift": "x >> y",
    "logical_and": "x & y", "logical_or": "x | y", "logical_not": "~x", "logical_xor": "x ^ y", "equal": "x == y",
    "not_equal": "x != y", "less": "x < y", "less_equal": "x <= y", "greater": "x > y", "greater_equal": "x >= y",
    "conj": "x.conjugate()", "conjugate": "x.conjugate()", "real": "x.real", "imag": "x.imag",
    "astype": "wf.cast(x, dtype)", "fmax": "wf.where(wf.isnan(y) | (x >= y), x, y)",
    "fmin": "wf.where(wf.isnan(y) | (x <= y), x, y)", "amax": "wf.max(x)", "amin": "wf.min(x)", "product": "wf.prod(x)",
    "average": "wf.mean(x)", "nanvar": "wf.var(x, nan='ignore')", "nanstd": "wf.std(x, nan='ignore')",
    "var_mean": "wf.mean_var(x)", "aminmax": "wf.minmax(x)", "inner": "wf.vecdot(x, y)",
    "arange": "wf.index(), or in a program x.__array_namespace__().arange(n)",
    "segment_sum": "wf.segment_reduce(x, offsets, 'sum')", "cumsum": "wf.cumulative_sum(x, axis=-1)",
    "cumprod": "wf.cumulative_prod(x, axis=-1)", "silu": "x * wf.sigmoid(x)", "swish": "x * wf.sigmoid(x)",
    "gelu": "0.5 * x * (1 + wf.erf(x * 0.5**0.5))", "top_k": "wf.topk(x, k)", "vector_norm": "wf.norm(x)",
    "jit": "wf.program(function)", "grad": "wf.vjp(function), or wf.value_and_grad(function) for the value, too",
    "packbits": "wf.pack(x > 0)", "unpackbits": "wf.unpack(bits, shape)",
}  # fmt: skip
"""NumPy's, the Array API's and PyTorch's names of functions, and what to write here."""
_SORT = "warpfold sorts nothing: call it of NumPy, PyTorch, CuPy or JAX; wf.topk(x, k) gives up to 16 elements, sorted"
_MOVE = "warpfold moves no elements: call it of NumPy, PyTorch, CuPy or JAX before"
_MATRICES = "products of matrices are for NumPy, PyTorch, CuPy or JAX; wf.vecdot(x, y) sums products along an axis"
_MAKE = "arrays are those of NumPy, PyTorch, CuPy or JAX, and are made there"
_MODULES = "functions have no modules here: write wf.softmax, wf.norm and so on; warpfold.torch has modules for PyTorch"
ELSEWHERE = {
    **dict.fromkeys(("sort", "argsort", "median", "nanmedian", "quantile", "nanquantile", "percentile", "mode"), _SORT),
    **dict.fromkeys(("cat", "concat", "concatenate", "stack", "hstack", "vstack", "tile", "repeat", "roll", "gather",
                     "scatter", "take", "flip", "pad", "repeat_interleave"), _MOVE),
    **dict.fromkeys(("matmul", "mm", "bmm", "einsum", "tensordot", "outer", "linear", "addmm", "conv1d",
                     "conv2d"), _MATRICES),
    **dict.fromkeys(("array", "asarray", "tensor", "zeros", "ones", "empty", "full", "zeros_like", "ones_like"), _MAKE),
    **dict.fromkeys(("nn", "functional", "linalg", "special", "fft"), _MODULES),
    **dict.fromkeys(("cov", "corrcoef"), "in a program, with d = x - wf.mean(x, axis=-1, keepdims=True): "
                    "wf.mean(d[:, None] * d[None], axis=-1)"),
    "vmap": "reductions keep all axes but axis=; torch.func.vmap and jax.vmap take functions of warpfold",
}  # fmt: skip
"""Functions that have no equivalent here, and what to do."""
HINTS = {
    "round": "for decimals write wf.round(x * 10**digits) / 10**digits",
    "vjp": "the arrays go to what it returns: wf.vjp(function)(gradient, x)",
    "value_and_grad": "wrt= names the arguments: wf.value_and_grad(function, wrt='x')",
    "where": "for the places of true values call numpy.nonzero; here both choices are given: wf.where(condition, x, 0)",
    "relu": "for a result in place write out=x",
    "random_bits": "the array whose shape counts comes first: wf.random_bits(x, seed)",
    "unique": "it returns the distinct elements alone; wf.bincount(x) has their counts",
}
"""What to write in place of further arguments that other libraries take by position."""
_LATER = "the elements exist when the program has run: return the array, and read it then"
_ITSELF = "write x: a symbolic array has no memory of its own"
METHODS = {
    "view": "write x.reshape(shape)", "flatten": "write x.reshape(-1)", "ravel": "write x.reshape(-1)",
    "unsqueeze": "write x[None], or x[:, None]", "permute": "write x.transpose(1, 0)", "t": "write x.T",
    "swapaxes": "write x.transpose(1, 0)", "numel": "write x.size", "dim": "write x.ndim",
    "detach": "write wf.stop_gradient(x)", "masked_fill": "write wf.where(mask, value, x)",
    **{name: f"write wf.cast(x, '{t}')" for name, t in (
        ("float", "float32"), ("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"), ("int", "int32"),
        ("long", "int64"), ("short", "int16"), ("char", "int8"), ("byte", "uint8"), ("bool", "bool"))},
    **dict.fromkeys(("to", "type", "type_as"), "write wf.cast(x, dtype); a program runs where its arrays are"),
    **dict.fromkeys(("chunk", "split", "tensor_split", "unbind"), "write slices: x[:, :n] and x[:, n:]"),
    **dict.fromkeys(("gather", "take_along_dim"), "write x.__array_namespace__().take_along_axis(x, indices, axis=-1)"),
    "index_select": "write x.__array_namespace__().take(x, indices, axis=0)",
    **dict.fromkeys(("nonzero", "argwhere", "unique"),
                    "the number of its results follows from elements: call it on a result"),
    **dict.fromkeys(("backward", "requires_grad", "requires_grad_"),
                    "gradients are those of the program: wf.value_and_grad(function), or backward() of its result"),
    **dict.fromkeys(("item", "tolist", "numpy", "cpu", "cuda", "get"), _LATER),
    **dict.fromkeys(("contiguous", "clone", "copy"), _ITSELF),
    **dict.fromkeys(("expand", "expand_as"), "write x.__array_namespace__().broadcast_to(x, y.shape)"),
}  # fmt: skip
"""Methods of arrays of other libraries."""
