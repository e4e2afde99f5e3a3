"""The operations of program cases: what each reads and writes beside its array, and over which axes it folds."""

from __future__ import annotations

from typing import NamedTuple


class Operation(NamedTuple):
    """What an operation reads and writes besides its array ``x``.

    Attributes:
        inputs: further arrays: ``weight`` and ``bias`` along the folded axes (along the channels for norms of
            channels), ``residual`` like ``x``, ``target`` with a class for each row, ``bits`` with a bit for each
            element of ``x``, ``gradient`` like ``x``: that of a result, ``summand`` like ``x``: an input of the forward
            alone. Peers read, in place of bits, ``output`` like ``x`` and above 0 where a bit is set, or ``mask`` of
            bools. ``like`` is the array like ``x`` of which ``x`` is a gradient, ``mean`` and ``var`` are its
            statistics, and ``twin`` equals ``x``.
        results: ``elements`` are like ``x``, ``bytes`` are 8-bit elements in its shape, ``rows`` are one f32 a row,
            ``values`` one value of the type of ``x`` a row, ``chosen`` several, ``channels`` one f32 a channel,
            ``bits`` a mask, ``total`` one f32, ``count`` a number, ``truth`` a truth value; gradients of weights are
            like these, and ``same`` is equal to the first result.
        reads: how often ``x``, ``like`` and gradients must be read: twice if what is folded does not fit on the chip.
    """

    inputs: tuple[str, ...] = ()
    results: tuple[str, ...] = ("elements",)
    reads: int = 1


AFFINE = ("weight", "bias")
"""The inputs of an affine map, or the results that are their gradients."""


def _of_affine(reads: int = 1) -> Operation:
    """The backward of a norm with a weight and a bias."""
    return Operation((*AFFINE, "gradient"), ("elements", *AFFINE), reads)


_STATISTICS = ("channels", "channels")
NORMS = {
    f"{name}{order}": operation
    for order in ("", "_nhwc")
    for name, operation in (
        ("batchnorm_running_relu", Operation((*AFFINE, "running", "running"), ("elements", *_STATISTICS), 2)),
        ("batchnorm_add_relu", Operation((*AFFINE, "residual"), ("elements", *_STATISTICS, "bits"), 2)),
        (
            "batchnorm_add_relu_backward",
            Operation(("like", "mean", "var", *AFFINE, "bits", "output"), ("elements", *_STATISTICS, "elements"), 2),
        ),
    )
}
"""Batch norms with a ReLU: with running statistics, after an array is added, and their gradients."""
OPERATIONS = {
    "softmax": Operation(),
    "softmin": Operation(),
    "log_softmax": Operation(),
    "logsumexp": Operation(results=("values",)),
    "standardize": Operation(),
    "layernorm": Operation(AFFINE),
    "rmsnorm": Operation(("weight",)),
    "add_rmsnorm": Operation(("residual", "weight"), ("elements", "elements")),
    "quant_fp8": Operation(results=("bytes", "rows")),
    "cross_entropy": Operation(("target",), ("rows",)),
    "groupnorm": Operation(AFFINE),
    "batchnorm": Operation(AFFINE, ("elements", "channels", "channels"), reads=2),
    "batchnorm_nhwc": Operation(AFFINE, ("elements", "channels", "channels"), reads=2),
    "batchnorm_relu": Operation(AFFINE, ("elements", "channels", "channels"), reads=2),
    "batchnorm_relu_nhwc": Operation(AFFINE, ("elements", "channels", "channels"), reads=2),
    "var_norm_cols": Operation(reads=2),
    "cumsum": Operation(),
    "cummax": Operation(),
    "logcumsumexp": Operation(),
    "recurrence": Operation(("residual",)),
    "topk": Operation(results=("chosen",)),
    "relu": Operation(),
    "relu_bits": Operation(results=("elements", "bits")),
    "relu_backward": Operation(("bits", "output")),
    "add": Operation(("residual",)),
    "add_relu": Operation(("residual",)),
    "add_relu_bits": Operation(("residual",), ("elements", "bits")),
    "where": Operation(("residual",)),
    "softmax_bwd": Operation(("gradient",)),
    "log_softmax_bwd": Operation(("gradient",)),
    "layernorm_bwd": _of_affine(),
    "rmsnorm_bwd": Operation(("weight", "gradient"), ("elements", "weight")),
    "add_rmsnorm_bwd": Operation(("summand", "weight", "gradient", "gradient"), ("elements", "same", "weight")),
    "groupnorm_bwd": _of_affine(),
    "batchnorm_bwd": _of_affine(reads=2),
    "batchnorm_nhwc_bwd": _of_affine(reads=2),
    "batchnorm_relu_bwd": _of_affine(reads=2),
    "batchnorm_relu_nhwc_bwd": _of_affine(reads=2),
    "cross_entropy_fwdbwd": Operation(("target",), ("total", "elements")),
    "dropout": Operation(),
    "dropout_backward": Operation(("bits", "mask")),
    "sum": Operation(results=("values",)),
    "sum_where": Operation(("bits", "mask"), ("values",)),
    "count_nonzero": Operation(results=("count",)),
    "array_equal": Operation(("twin",), ("truth",)),
    **NORMS,
}
"""All operations, by the names that cases use."""
ELEMENTWISE = (
    "relu", "relu_bits", "relu_backward", "add", "add_relu", "add_relu_bits", "where", "dropout", "dropout_backward",
)  # fmt: skip
"""Operations on single elements, which fold nothing."""
WHOLE = ("sum", "sum_where", "count_nonzero", "array_equal")
"""Operations that fold a whole array, and so read and do not write."""
OF_BITS = ("count_nonzero", "array_equal")
"""Those whose array is one of bits."""
CHANNELS = ("groupnorm", "batchnorm", "batchnorm_nhwc", "batchnorm_relu", "batchnorm_relu_nhwc", *NORMS)
"""Norms of channels, which lie along axis 1."""
OWN_AXES = (*CHANNELS, *ELEMENTWISE, *WHOLE, "var_norm_cols", "cross_entropy")
"""Operations whose axes cannot be chosen."""
BACKWARDS = ("_fwdbwd", "_bwd")
"""Ends of the names of operations that compute gradients."""
UNMOVED = ("output", "mask", "summand", "same")
"""Roles of arrays that need not move, such as those that only peers read."""
RANKS = {
    **{name: (4, 4) for name in OPERATIONS if name.endswith("_nhwc")},
    **dict.fromkeys((*ELEMENTWISE, *WHOLE), (1, 8)),
    "var_norm_cols": (2, 2), "cross_entropy": (2, 2),
    **dict.fromkeys(("cumsum", "cummax", "logcumsumexp", "recurrence", "topk"), (1, 8)),
}  # fmt: skip
"""The least and the greatest rank of their arrays, where it is not any from 2 on."""


def split(operation: str) -> tuple[str, str]:
    """The operation and the digits of its axes."""
    what = operation if operation in OPERATIONS else operation.rstrip("0123456789")
    return what, operation.removeprefix(what)


def base_of(what: str) -> str:
    """The operation of which another one computes the gradients; itself if it computes none."""
    return next((what.removesuffix(end) for end in BACKWARDS if what.endswith(end)), what)


def axes_of(what: str, digits: str, rank: int) -> tuple[int, ...] | None:
    """The folded axes of an array of rank ``rank``; None if the operation has no such arrays."""
    what = base_of(what)
    if what in OWN_AXES:
        least, most = RANKS.get(what, (2, 8))
        if digits or not least <= rank <= most:
            return None
        own = {"cross_entropy": (1,), "groupnorm": tuple(range(2, rank)), **dict.fromkeys(ELEMENTWISE, ()),
               **dict.fromkeys(WHOLE, tuple(range(rank)))}  # fmt: skip
        return own.get(what, tuple(a for a in range(rank) if a != 1))
    axes = tuple(map(int, digits)) or (rank - 1,)
    return axes if list(axes) == sorted(set(axes)) and axes[-1] < rank else None
