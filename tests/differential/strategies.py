"""Draws cases: which arrays a function takes, and which arguments."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from warpfold.compiler.dtypes import ALL, C64, C128, F8E4M3FN, F8E5M2, dtype

from .case import Case
from .elements import KINDS
from .layouts import axes, broadcastable, layouts, shapes
from .reference import REFERENCE

FUNCTIONS = tuple(REFERENCE)
COMPLEX = {"sum", "prod", "mean", "norm", "vecdot", "dot", "any", "all", "count_nonzero", "array_equal"}
"""Functions of complex numbers too; the others need an order."""
PAIRS = {"dot", "vecdot", "allclose", "array_equal"}
_REAL = tuple(t.name for t in (*ALL, F8E4M3FN, F8E5M2))
_FLOATS = ("f16", "bf16", "f32", "f64")


def dtypes(function: str) -> st.SearchStrategy[str]:
    """The element types that ``function`` takes; f32 more often than others."""
    names = (*_REAL, "f32", "f32", "f64") + ((C64.name, C128.name) if function in COMPLEX else ())
    return st.sampled_from([n for n in names if n != "bool" or function != "ptp"])


@st.composite
def plain(draw: st.DrawFn, function: str, dtype: str | None = None) -> Case:
    """A call with arrays and an axis only."""
    name = dtype or draw(dtypes(function))
    shape = draw(shapes())
    if function == "dot":
        shape = (draw(shapes())[:1] or (1,)) if len(shape) != 1 else shape
    arrays = [draw(layouts(name, shape))]
    if function in PAIRS:
        other = name if function in ("allclose", "array_equal") else draw(_partner(name))
        same = function != "vecdot"
        arrays.append(draw(layouts(other, shape if same else draw(broadcastable(shape)))))
    axis = "default" if function == "dot" else draw(st.one_of(axes(len(shape)), st.just("default")))
    if function == "vecdot" and not isinstance(axis, int):
        axis = "default" if shape else ()
    keepdims = () if function == "dot" or draw(st.booleans()) else (("keepdims", draw(st.booleans())),)
    return Case(function, tuple(arrays), axis, draw(kinds(function, name)), draw(st.integers(0, 2**20)), keepdims)


def _partner(name: str) -> st.SearchStrategy[str]:
    """A type that an array of type ``name`` is multiplied with: often its own, else one that NumPy promotes."""
    if name in ("bf16", "f8e4m3fn", "f8e5m2"):
        return st.just(name)
    others = ("i8", "i32", "u16", "f32", "f64", "f16", "u64")
    return st.one_of(st.just(name), st.sampled_from(others if name in _REAL else ("c64", "c128")))


def kinds(function: str, name: str) -> st.SearchStrategy[str]:
    """Elements that stay within the type's range in what ``function`` makes of them."""
    t = dtype(name)
    if function in ("prod", "nanprod") and (t.is_float or t.kind == "complex"):
        return st.sampled_from(("factors", "factors", "near factors") if name in _FLOATS else ("factors",))
    if function in ("dot", "vecdot", "var", "std", "mean_var", "logsumexp", "norm") and t.is_integer:
        return st.sampled_from(("whole", "ties") if function in ("dot", "vecdot") else ("whole", "spread"))
    if function in ("min", "max", "minmax", "argmin", "argmax") and t.is_float:
        return st.sampled_from((*KINDS, "zeros"))
    return st.sampled_from(KINDS)


@st.composite
def with_arguments(draw: st.DrawFn, function: str) -> Case:
    """A call with further arguments, a mask or room for the results."""
    case = draw(plain(function))
    t = dtype(case.arrays[0].dtype)
    found: dict[str, Any] = dict(case.arguments)
    for name, values in _choices(function, t.kind, t.name).items():
        if draw(st.booleans()):
            found[name] = draw(st.sampled_from(values))
    if draw(st.integers(0, 3)) == 0:
        found["determinism"] = draw(st.sampled_from(("run", "portable", "none")))
    nan = draw(st.sampled_from(("propagate", "propagate", "ignore", "ignore", "raise")))
    if nan != "propagate":
        found["nan"] = nan
    mask = None
    if draw(st.booleans()):
        mask = draw(layouts("bool", draw(broadcastable(case.shape))))
    out = draw(st.sampled_from((None, None, "contiguous", "strided")))
    return Case(case.function, case.arrays, case.axis, case.elements, case.seed, tuple(found.items()), mask, out)


def _choices(function: str, kind: str, name: str) -> dict[str, tuple[Any, ...]]:
    """The arguments of ``function`` alone, for elements of one type, with values worth drawing."""
    real, whole = kind == "float", kind in ("int", "uint", "bool")
    sums = {"accumulate": ("compensated", *(("f64",) if not whole and name != "c128" else ()))}
    wider = {"dtype": ("f64", *(("f32",) if real and name != "f64" else ("i32", "uint8") if whole else ()))}
    wider = {"dtype": ("c128",)} if kind == "complex" else wider
    first = {"initial": (0, 1, 3, *((-2.5, float("inf"), float("nan")) if real else ()))}
    moments = {"correction": (0.0, 1.0, 1.5, 100.0), **({"accumulate": ("f64",)} if real else {})}
    return {
        "sum": {**sums, **wider, **first},
        "nansum": {**sums, **wider, **first},
        "prod": {**wider, "initial": (1, 2)},
        "nanprod": {**wider, "initial": (1, 2)},
        "min": first, "max": first, "nanmin": first, "nanmax": first,
        "mean": sums if whole else {**sums, "dtype": wider["dtype"]},
        "nanmean": sums,
        "var": moments, "std": moments, "mean_var": moments, "describe": {"correction": (0.0, 1.0)},
        "norm": {"ord": (0, 1, 2, float("inf"), float("-inf"), 3, 1.5, 0.5, -1, 4), **({} if whole else sums)},
        "dot": {"accumulate": ("compensated",)} if real else {},
        "vecdot": {"accumulate": ("compensated",)} if real else {},
        "allclose": {"rtol": (1e-5, 0.5), "atol": (1e-8, 0.25), "equal_nan": (True, False)},
        "array_equal": {"equal_nan": (True, False)},
    }.get(function, {})  # fmt: skip
