"""Draws calls of the library's programs: arrays of every layout, axes, weights, masks, options, plans and ``out=``."""

from __future__ import annotations

from math import inf, prod
from typing import Any

from hypothesis import strategies as st

from .layouts import Layout, axes, broadcastable, layouts, shapes
from .program_case import ProgramCase
from .program_reference import LOSSES, REFERENCE

FUNCTIONS = tuple(REFERENCE)
FLOATS = ("f32", "f32", "f32", "bf16", "bf16", "f16", "f64")
LIMIT = 6000
"""Elements of an array."""
SOFTMAX = ("softmax", "softmin", "log_softmax")
CHANNELS = ("batch_norm", "instance_norm", "group_norm")
PLANS = (
    "", "", "", "resident=registers", "resident=registers,cluster=2", "resident=shared", "resident=shared,cluster=2",
    "resident=l2", "resident=l2,warps=1,held=1", "resident=memory", "resident=memory,cluster=2", "resident=none",
    "lanes=32,warps=2", "lanes=4,warps=1", "vector=1",
)  # fmt: skip
SMOOTHING = (0.0, 0.1, 1.0)


@st.composite
def calls(draw: st.DrawFn, function: str) -> ProgramCase:
    """A call of a program."""
    x = draw(_elements(function))
    rank = len(x.shape)
    if function in CHANNELS:
        arrays, params = draw(_of_channels(function, x))
    elif function in LOSSES:
        arrays, params = draw(_of_losses(function, x))
    else:
        arrays, params = draw(_of_rows(function, x, draw(axes(rank))))
    how = {"plan": draw(st.sampled_from(PLANS))}
    if draw(st.integers(0, 3)) == 0:
        how["determinism"] = "portable"
    given = tuple((k, v) for k, v in how.items() if v)
    out = draw(st.sampled_from((None, None, "contiguous", "strided", "in place")))
    if out == "in place" and (0 in x.steps or function in (*LOSSES, "quantize") or x.dtype not in FLOATS):
        out = None
    kinds = ("whole", "spread", "spread", "ties", "special")
    elements = draw(st.sampled_from(kinds if function not in LOSSES else kinds[:-1]))
    return ProgramCase(
        function, (("x", x), *arrays.items()), tuple(params.items()), elements, draw(st.integers(0, 2**20)), given, out
    )


@st.composite
def _elements(draw: st.DrawFn, function: str) -> Layout:
    """The array ``x``: of rank 1 at least, and of channels of rank 2 or 3."""
    least = {"instance_norm": 2, "batch_norm": 2, "group_norm": 2}.get(function, 1)
    shape = draw(shapes(LIMIT))
    while len(shape) < least:
        shape = (*shape, 3)
    if function in (*LOSSES, "quantize"):
        shape = tuple(n or 1 for n in shape)  # no classes, and no greatest element, are mistakes
    return draw(layouts(draw(st.sampled_from(FLOATS)), shape))


@st.composite
def _weight(draw: st.DrawFn, shape: tuple[int, ...]) -> Layout:
    return draw(layouts(draw(st.sampled_from(FLOATS)), shape))


@st.composite
def _of_rows(draw: st.DrawFn, function: str, x: Layout, axis: Any) -> tuple[dict[str, Layout], dict[str, Any]]:
    rank = len(x.shape)
    given = range(rank) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    own = tuple(x.shape[a] for a in sorted(a % rank for a in given))
    arrays: dict[str, Layout] = {}
    params: dict[str, Any] = {"axis": axis}
    if function.startswith("add_"):
        arrays["residual"] = draw(layouts(draw(st.sampled_from(FLOATS)), x.shape))
    wanted = {"layer_norm": 3, "add_layer_norm": 3, "rms_norm": 1, "add_rms_norm": 1}.get(function, 0)
    for bit, name in ((1, "weight"), (2, "bias")):
        if wanted & bit and draw(st.booleans()):
            arrays[name] = draw(_weight(own if draw(st.booleans()) else _full(draw(broadcastable(x.shape)), x.shape)))
    if function in SOFTMAX and draw(st.booleans()):
        arrays["bias"] = draw(_weight(draw(broadcastable(x.shape))))
    if function in (*SOFTMAX, "standardize") and draw(st.integers(0, 2)) == 0:
        arrays["where"] = draw(layouts("bool", draw(broadcastable(x.shape))))
    if function == "standardize":
        params |= {"eps": 1e-3, "correction": draw(st.sampled_from((0, 1)))}
    if function == "normalize":
        params["p"] = draw(st.sampled_from((2.0, 2.0, 1.0, 3.0, 0.5, inf, 0.0)))
    if function == "quantize":
        params["dtype"] = draw(st.sampled_from(("float8_e4m3fn", "float8_e5m2", "int8")))
        sizes = [n for n in range(1, 65) if len(own) == 1 and own[0] and own[0] % n == 0]
        if sizes and draw(st.booleans()):
            params["block"] = draw(st.sampled_from(sizes))
    return arrays, params


def _full(shape: tuple[int, ...], whole: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts, with as many axes as ``whole``: others may be taken for those that are normalised."""
    return (*(1,) * (len(whole) - len(shape)), *shape)


@st.composite
def _of_channels(draw: st.DrawFn, function: str, x: Layout) -> tuple[dict[str, Layout], dict[str, Any]]:
    rank = len(x.shape)
    channel = draw(st.integers(0 if function == "batch_norm" else 1, rank - 1))
    arrays: dict[str, Layout] = {}
    params: dict[str, Any] = {"channel_axis": channel - draw(st.sampled_from((0, rank)))}
    n = x.shape[channel]
    if function == "batch_norm":
        params["training"] = prod(x.shape) != n and draw(st.booleans())  # one element has no variance
        if not params["training"]:
            arrays |= {name: draw(_weight((n,))) for name in ("running_mean", "running_var")}
    if function == "group_norm":
        params["num_groups"] = draw(st.sampled_from([g for g in range(1, 65) if n % g == 0]))
    for name in ("weight", "bias"):
        if draw(st.booleans()):
            arrays[name] = draw(_weight((n,)))
    return arrays, params


@st.composite
def _of_losses(draw: st.DrawFn, function: str, x: Layout) -> tuple[dict[str, Layout], dict[str, Any]]:
    rank = len(x.shape)
    axis = draw(st.sampled_from((None, *range(-rank, rank))))
    place = (min(1, rank - 1) if axis is None else axis) % rank
    rows = tuple(n for a, n in enumerate(x.shape) if a != place)
    target = draw(layouts(draw(st.sampled_from(("i8", "i32", "i64"))), rows))
    params: dict[str, Any] = {
        "axis": axis, "reduction": draw(st.sampled_from(("none", "mean", "sum"))),
        "ignore_index": draw(st.sampled_from((1, -1))),
    }  # fmt: skip
    if function == "cross_entropy":
        params |= {
            "label_smoothing": draw(st.sampled_from(SMOOTHING)), "z_loss": draw(st.sampled_from((0.0, 1e-2))),
            "softcap": draw(st.sampled_from((None, None, 5.0))),
        }  # fmt: skip
    arrays = {"target": target}
    if draw(st.booleans()):
        arrays["weight"] = draw(_weight((x.shape[place],)))
    return arrays, params
