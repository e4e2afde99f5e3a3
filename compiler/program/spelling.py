"""Messages that say what to write in place of names and arguments of other libraries."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ..errors import Location, WarpfoldError, error, near
from .exact import PACKAGE
from .frames import caller
from .public_names import COMPOSITIONS, ELEMENTWISE, MONOIDS, PACKING, PROGRAMS, REDUCTIONS, STANDARD

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


PARAMETERS = {
    "dim": "axis=", "dims": "axis=", "axes": "axis=", "keepdim": "keepdims=", "keep_dims": "keepdims=",
    "ddof": "correction=", "unbiased": "correction=1 for True and correction=0 for False", "skipna": "nan='ignore'",
    "ignore_nan": "nan='ignore'", "mask": "where=", "num_segments": "ids= with it",
    "normalized_shape": "axis=-1, or the axes of the shape", "slope": "negative_slope=", "min": "low=", "max": "high=",
    "a_min": "low=", "a_max": "high=", "decimals": "wf.round(x * 10**digits) / 10**digits", "epsilon": "eps=",
    "descending": "largest=", "p": "ord=",
}  # fmt: skip
"""Parameters of NumPy, PyTorch, pandas and JAX, and what to write here."""
REDUCING_NAMES = {
    "add": "sum", "mul": "prod", "multiply": "prod", "product": "prod", "amax": "max", "maximum": "max",
    "fmax": "nanmax", "amin": "min", "minimum": "min", "fmin": "nanmin", "logical_or": "any", "or_": "any",
    "logical_and": "all", "and_": "all", "average": "mean",
}  # fmt: skip
"""Functions of Python and NumPy that other libraries reduce with, and the reductions here."""
REDUCING = "a monoid, a function, a name, or a tuple of them"
"""What a caller may reduce with, for messages."""
SHARED = ("axis", "keepdims", "out", "where", "nan", "determinism", "device", "plan")
"""Parameters that all reductions have."""


def missing(name: str, known: Collection[str]) -> WarpfoldError:
    """The error for a name that warpfold does not have."""
    written = elsewhere(name)
    found = "" if written else near(name, known) or near(name.lower(), known) or near(name.upper(), known)
    remedy = written or "correct the name; dir(warpfold) lists all that there are"
    return error("WF175", name=name, near=found, remedy=remedy, where=caller())


def elsewhere(name: str) -> str:
    """What to do in place of a call of another library's function ``name``; empty for one that is not known."""
    return f"write {NAMES[name]}" if name in NAMES else ELSEWHERE.get(name, "")


def attribute(name: str) -> str:
    """What to write in place of the attribute ``name`` of an array of another library; empty if it is not known."""
    if name in METHODS:
        return METHODS[name]
    if name in (*REDUCTIONS, *ELEMENTWISE, *COMPOSITIONS, *PROGRAMS, *PACKING):
        return f"write wf.{name}(x)"
    if name.endswith("_") and (found := attribute(name[:-1])):
        return f"nothing is computed in place: {found}, and give the result a name"
    return elsewhere(name) if name in NAMES else _of_the_standard(name) or elsewhere(name)


def _of_the_standard(name: str) -> str:
    """How a function of the Array API standard is called of a symbolic array; empty if there is none."""
    return f"write x.__array_namespace__().{name}(x), with its other arguments by name" if name in STANDARD else ""


def unknown(
    name: str, key: str, own: Collection[str], *, array: bool, shared: bool = False, where: Location | None = None
) -> WarpfoldError:
    """The error for a parameter ``key`` that the reduction ``name`` does not have.

    ``own`` are those that it has, ``array`` says whether ``key`` names one of its arrays, and ``shared`` whether its
    call takes more.
    """
    if array:
        remedy = f"write it behind a *: def {name}(x, *, {key}=...)"
    elif key in PARAMETERS:
        remedy = f"write {PARAMETERS[key]}"
    elif key in SHARED:
        remedy = f"{key}= belongs to calls such as wf.reduce, or to that of the program: this one does not take it"
    else:
        remedy = "leave it out or correct it" + near(key, (*own, *SHARED))
    known = ", ".join(own) or ("none by name" if array else "none")
    known += ", and what its call takes, such as axis and keepdims" if shared and key not in SHARED else ""
    return error("WF127", name=name, parameter=key, known=known, remedy=remedy, where=where)


def misfit(function: Callable[..., Any], xs: Sequence[Any], how: Mapping[str, Any]) -> WarpfoldError | None:
    """The error for arguments that the signature of a public function does not take; None if it takes them."""
    name, taken = str(getattr(function, "__name__", "the function")), inspect.signature(function).parameters
    kinds = {p.kind for p in taken.values()}
    by_position = [n for n, p in taken.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_name = [n for n, p in taken.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    given = by_position[: len(xs)]
    if len(xs) > len(by_position) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        remedy = others_by_name([n for n in by_name if n not in by_position])
        return too_many(name, " ".join(by_position) or "none", len(xs), remedy)
    for key in how:
        if key in given:
            return twice(name, key, by_position)
        if key not in by_name and inspect.Parameter.VAR_KEYWORD not in kinds:
            return unknown(name, key, by_name, array=False, where=caller())
    for n, p in taken.items():
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and n not in (*given, *how):
            return missing_parameter(name, n, by_position[:1], where=caller())
    return None


def others_by_name(names: Collection[str]) -> str:
    """What to do with arguments by position that have no place there."""
    return f"write the others by name: {' '.join(f'{n}=' for n in names)}" if names else "leave the others out"


def array_first(name: str, x: object) -> None:
    """Refuses a function or a monoid in the place of the array, where other libraries have it: WF245."""
    if callable(x) and not hasattr(x, "shape") and not hasattr(x, "__array__"):
        raise error("WF245", name=name, found=getattr(x, "__name__", type(x).__name__), where=caller())


def called(function: Callable[..., Any], xs: Sequence[Any], how: Mapping[str, Any]) -> Any:
    """``function(*xs, **how)``, of a function that is traced; arguments that it does not take end in a code."""
    try:
        return function(*xs, **how)
    except TypeError as e:
        if e.__traceback__ is not None and e.__traceback__.tb_next is None and (found := misfit(function, xs, how)):
            raise found from None
        raise


def missing_parameter(
    name: str, parameter: str, first: Sequence[str] = (), where: Location | None = None
) -> WarpfoldError:
    """The error for a call without ``parameter``; ``first`` has the name of what is given by position before all."""
    remedy = f"give it by keyword: {parameter}=value"
    if parameter in ("x", "y"):
        remedy = f"pass the array: wf.{name}({'x' if parameter == 'x' else 'x, y'})"
    if parameter == "function" and [parameter] == list(first):
        remedy = f"pass the function; as a decorator write @wf.{name}, without parentheses"
    return error("WF151", name=name, parameter=parameter, remedy=remedy, where=where)


def too_many(name: str, expected: str, found: int, remedy: str) -> WarpfoldError:
    """The error for more arguments by position than a public function has places for."""
    remedy = f"{remedy}; {HINTS[name]}" if name in HINTS else remedy
    return error("WF176", name=name, found=found, expected=expected, remedy=remedy, where=caller())


def twice(name: str, key: str, by_position: Collection[str]) -> WarpfoldError:
    """The error for an argument that is given by position and by name."""
    return error("WF194", name=name, parameter=key, taken=" ".join(by_position), where=caller())


def no_array(name: str, value: object) -> WarpfoldError:
    """The error for what stands in the place of the array ``name``; a shape is one of axes, as PyTorch's norms take."""
    sizes = value if isinstance(value, tuple | list) else (value,)
    remedy = "pass an array; the axes of rows are named by axis="
    if name == "where":
        remedy = "pass an array of bools: where=x > 0"
    elif name == "bits":
        remedy = "pass the bits that the forward kept with keep='bits', or an array of bools"
    elif isinstance(value, tuple | list) and not all(type(n) is int for n in sizes):
        remedy = f"make an array of it first: numpy.array({name})"
    elif name in ("weight", "bias") and all(type(n) is int for n in sizes):
        axes = "-1" if len(sizes) == 1 else str(tuple(range(-len(sizes), 0)))
        remedy = f"name axes, not their sizes: axis={axes}; and weight= and bias= are arrays, or None"
    return error("WF285", name=name, kind=type(value).__name__, remedy=remedy, where=caller())


def wrong_count(
    name: str,
    expected: object,
    found: int,
    arrays: Collection[str] = (),
    parameters: Collection[str] = (),
    given: object = None,
) -> WarpfoldError:
    """The error for a number of arrays that ``name`` does not take.

    A program says which ``arrays`` it takes, and its ``parameters``, which go by name; a reduction neither. ``given``
    is a number that was given in place of an array.
    """
    if not arrays:
        remedy = "pass one array per input; a combine function becomes a reduction by wf.monoid(identity=...)"
        return error("WF124", name=name, expected=expected, found=found, taken="", remedy=remedy)
    by_name = f"; what is no array goes by name: {' '.join(f'{p}=' for p in parameters)}" if parameters else ""
    taken = f": it takes {' '.join(arrays)}"
    remedy = f"pass one array each{by_name}"
    if given is not None:
        remedy = f"make an array of the number first: numpy.asarray({given!r})"
    remedy = f"{remedy}; {HINTS[name]}" if name in HINTS else remedy
    return error("WF124", name=name, expected=expected, found=found, taken=taken, remedy=remedy)


def reduction(what: Any) -> str:
    """The reduction that a function of Python, NumPy or warpfold stands for; empty if it stands for none.

    >>> import numpy
    >>> [reduction(f) for f in (max, numpy.add, numpy.mean, len)]
    ['max', 'sum', 'mean', '']
    """
    if not _home(what):
        return ""
    name = str(getattr(what, "__name__", ""))
    return name if name in REDUCTIONS else REDUCING_NAMES.get(name, "")


def _home(what: Any) -> str:
    """The name by which users know the module of a function: a module of Python, numpy or wf; empty for others."""
    module = "numpy" if type(what).__name__ == "ufunc" else str(getattr(what, "__module__", "") or "")
    if module.startswith(f"{PACKAGE}.runtime."):
        return "wf"
    top = module.partition(".")[0].lstrip("_")
    return top if top in ("builtins", "numpy", "operator") else ""


def irreducible(what: object, kind: str = "", *, folds: bool = False, where: Location | None = None) -> WarpfoldError:
    """The error for what reduces nothing, with what to write in its place.

    ``kind`` is what to call it, its type by default; ``folds`` says that ``wf.fold`` was called, which takes monoids.
    """
    name = what if isinstance(what, str) else reduction(what)
    if name and what != name:
        kind = f"{_home(what)}.{getattr(what, '__name__', name)}"
    if folds and (hasattr(what, "expr") or hasattr(what, "__array__")):
        remedy = "the monoid comes first: wf.fold(wf.SUM, x)"
    elif folds and name and (monoid := _monoid(name)):
        remedy = f"write wf.fold(wf.{monoid}, x)"
    elif folds and callable(what):
        remedy = "make a monoid of the combine function: @wf.monoid(identity=...)"
    elif name and not folds:
        remedy = f"write {name!r}"
    elif hasattr(what, "explain"):
        remedy = f"call it: {getattr(what, '__name__', 'program')}(x); it has .compile and .explain, too"
    elif hasattr(what, "__array__"):
        remedy = "what reduces comes last: wf.reduce(x, wf.SUM)"
    elif isinstance(what, list):
        remedy = "write a tuple, as wf.reduce(x, ('sum', 'max')), for several at once"
    else:
        remedy = "name a reduction, such as 'sum', or make a monoid: @wf.monoid(identity=...) above a combine function"
    expected = "a monoid" if folds else REDUCING
    return error("WF130", kind=kind or f"a {type(what).__name__}", expected=expected, remedy=remedy, where=where)


def _monoid(name: str) -> str:
    """The monoid that alone makes the reduction ``name``; empty if the reduction does more than fold."""
    return name.upper() if name.upper() in MONOIDS else ""


def refused(written: str, message: str, where: Location | None) -> WarpfoldError | None:
    """The error for an expression that raised Python's own with this message, if a symbolic value was in its way.

    None where the message is about anything else, or where ``written`` is no call and formats nothing.
    """
    if found := _FORMS.match(message):
        return error("WF240", form=found[1], where=where)
    if found := _ATTRIBUTE.match(message):
        remedy = attribute(found[1]) or "keep it in a variable: attributes of a symbolic array are not set"
        return error("WF261", name=found[1], near="", remedy=remedy, where=where)
    try:
        call = ast.parse(written.strip(), mode="eval").body
    except SyntaxError:
        return None
    if isinstance(call, ast.Call) and (found := _CALLED.match(message)):
        of = getattr(call.func, "attr", "") if found[1] in ("Size", "tuple") else ""
        return error("WF261", name=f"{of}()", near="", remedy=_NO_CALL[of], where=where) if of in _NO_CALL else None
    if not isinstance(call, ast.Call) or not (found := _SYMBOLIC.search(message)) or message.startswith("'"):
        return None
    name = ast.unparse(call.func)
    return error("WF217", name=name, remedy=instead(name.rpartition(".")[2], arrays="A" in found[0]), where=where)


_SYMBOLIC = re.compile(r"\b(SymArray|SymBits|Elements|Sym)\b")
_FORMS = re.compile(r"(%\w) (?:format: .*\b(?:Sym|Elements)|requires int or char)")
"""What Python says of texts such as "%d" % x."""
_ATTRIBUTE = re.compile(r"'(?:Sym|SymArray|SymBits|Elements)' object has no attribute '([a-z]\w*)'$")
_CALLED = re.compile(r"'(Sym|SymArray|SymBits|Elements|Size|tuple)' object is not callable")
_NO_CALL = {
    "size": "size is how many elements there are: write x.shape[axis] for an axis",
    "shape": "write x.shape, without parentheses",
    "": "an array is no function: write x[...] for entries, and the name of a function before its parentheses",
}
"""What to write for a call of what is no function."""


def instead(name: str, *, arrays: bool) -> str:
    """What to write for another library's function ``name`` in a function that is traced, of arrays or of elements."""
    aliased = REDUCING_NAMES.get(name, "") if name in ("amax", "amin", "average", "product") else ""
    if reduction := name if name in REDUCTIONS else aliased:
        if arrays:
            return f"write wf.{reduction}(x, axis=...)"
        if monoid := _monoid(reduction):
            return f"fold the elements: wf.fold(wf.{monoid}, x)"
        return f"call wf.{reduction} outside of the function, on the array"
    if name in ELEMENTWISE or name in COMPOSITIONS or (arrays and name in PROGRAMS):
        return f"write wf.{name}"
    if name in ("asarray", "array", "tensor", "as_tensor"):
        return "compute with x as it is: its elements exist when the function has been traced, and runs"
    return (
        (arrays and (METHODS.get(name) or (name not in NAMES and _of_the_standard(name))))
        or elsewhere(name)
        or "there is no such function here: compute it with operators, wf.where, and wf.exp, wf.abs and their like"
    )
