"""The program cases of the benchmark, each fully described by its name.

``softmax.bf16.32768x4096`` gives operation, element type and shape. The operation works along the last axis, or along
the axes whose digits follow it: ``softmax1.f32.64x256x56x56``, ``softmax23.f32.64x256x56x56``. Three operations have
axes of their own: ``groupnorm`` normalises groups of channels (axis 1), ``batchnorm`` each channel in training, and
``var_norm_cols`` each column of a matrix. ``batchnorm_nhwc`` is ``batchnorm`` of an array of shape NCHW whose channels
lie innermost in memory; with ``_relu`` behind their names both end in a ReLU. Operations on single elements (``relu``,
``relu_bits``, ``where``, ...) have no axes, and those of a whole array (``sum``, ``array_equal``, ...) have all. Arrays
of type ``bit`` hold truth values as bits: ``count_nonzero.bit.4096M``. ``softmax_bwd`` is the backward of ``softmax``
alone, after its forward; ``cross_entropy_fwdbwd`` is the mean loss and the gradient of the logits. K and M are 2^10 and
2^20.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import NamedTuple

from ....compiler.dtypes import BF16, BIT, BOOL, F8E4M3FN, F16, F32, F64, I32, I64, DType
from ....compiler.program.bit_arrays import words_shape
from ..cases import sizes

GROUP = "fused"
"""The group of all program cases, as ``--cases`` names it."""
DTYPES = {t.name: t for t in (F64, F32, F16, BF16, BIT)}
GROUPS = 32
"""Groups of channels of a group norm; fewer if the channels do not divide by it."""
GATED_BYTES = 64_000_000
"""Bytes from which a case has a goal."""
EPS, RMS_EPS = 1e-5, 1e-6
"""What norms add to the variance, and root mean square norms to the mean square."""
RISING, FALLING = 0.9, 0.5
"""The factors of a linear recurrence."""
DROPPED = 0.1
"""The probability with which a dropout drops an element."""
ACCESS = 16
"""Bytes of the widest access; rows of a multiple of it all begin at such a boundary."""
SHORT, MEDIUM = 1 << 14, 1 << 18
"""Elements of a row up to which a goal applies."""

Shape = tuple[int, ...]


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
            ``values`` one value of the type of ``x`` a row, ``channels`` one f32 a channel, ``bits`` a mask, ``total``
            one f32, ``count`` a number, ``truth`` a truth value; gradients of weights are like these, and ``same`` is
            equal to the first result.
        reads: how often ``x``, ``like`` and gradients must be read: twice if what is folded does not fit on the chip.
    """

    inputs: tuple[str, ...] = ()
    results: tuple[str, ...] = ("elements",)
    reads: int = 1


_AFFINE = ("weight", "bias")


def _of_affine(reads: int = 1) -> Operation:
    """The backward of a norm with a weight and a bias."""
    return Operation((*_AFFINE, "gradient"), ("elements", *_AFFINE), reads)


_STATISTICS = ("channels", "channels")
_NORMS = {
    f"{name}{order}": operation
    for order in ("", "_nhwc")
    for name, operation in (
        ("batchnorm_running_relu", Operation((*_AFFINE, "running", "running"), ("elements", *_STATISTICS), 2)),
        ("batchnorm_add_relu", Operation((*_AFFINE, "residual"), ("elements", *_STATISTICS, "bits"), 2)),
        (
            "batchnorm_add_relu_backward",
            Operation(("like", "mean", "var", *_AFFINE, "bits", "output"), ("elements", *_STATISTICS, "elements"), 2),
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
    "layernorm": Operation(_AFFINE),
    "rmsnorm": Operation(("weight",)),
    "add_rmsnorm": Operation(("residual", "weight"), ("elements", "elements")),
    "quant_fp8": Operation(results=("bytes", "rows")),
    "cross_entropy": Operation(("target",), ("rows",)),
    "groupnorm": Operation(_AFFINE),
    "batchnorm": Operation(_AFFINE, ("elements", "channels", "channels"), reads=2),
    "batchnorm_nhwc": Operation(_AFFINE, ("elements", "channels", "channels"), reads=2),
    "batchnorm_relu": Operation(_AFFINE, ("elements", "channels", "channels"), reads=2),
    "batchnorm_relu_nhwc": Operation(_AFFINE, ("elements", "channels", "channels"), reads=2),
    "var_norm_cols": Operation(reads=2),
    "cumsum": Operation(),
    "cummax": Operation(),
    "logcumsumexp": Operation(),
    "recurrence": Operation(("residual",)),
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
    **_NORMS,
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
CHANNELS = ("groupnorm", "batchnorm", "batchnorm_nhwc", "batchnorm_relu", "batchnorm_relu_nhwc", *_NORMS)
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
    **dict.fromkeys(("cumsum", "cummax", "logcumsumexp", "recurrence"), (1, 8)),
}  # fmt: skip
"""The least and the greatest rank of their arrays, where it is not any from 2 on."""


@dataclass(frozen=True)
class ProgramCase:
    """One program on arrays of one size.

    Attributes:
        name: the name, as described above.
        what: the operation, a key of ``OPERATIONS``.
        dtype: element type of ``x``, of the weights, and of results that are like ``x``.
        shape, axes: the shape of ``x``, and the axes that the folds are over.
    """

    name: str
    what: str
    dtype: DType
    shape: Shape
    axes: tuple[int, ...]
    group = GROUP

    @property
    def operation(self) -> Operation:
        """What it reads and writes."""
        return OPERATIONS[self.what]

    @property
    def base(self) -> str:
        """The operation, or that of which it computes the gradients."""
        return base_of(self.what)

    @property
    def forward(self) -> ProgramCase:
        """The case whose gradients it computes."""
        return replace(self, what=self.base)

    @property
    def is_backward(self) -> bool:
        """Whether it computes gradients."""
        return self.what != self.base

    @property
    def axis(self) -> int | tuple[int, ...]:
        """The axes as an argument: an int for one axis."""
        return self.axes[0] if len(self.axes) == 1 else self.axes

    @property
    def is_nhwc(self) -> bool:
        """Whether the channels of its images lie innermost in memory."""
        return self.base.endswith("_nhwc")

    @property
    def kept(self) -> Shape:
        """The sizes of the other axes."""
        return tuple(n for a, n in enumerate(self.shape) if a not in self.axes)

    @property
    def groups(self) -> int:
        """The number of groups of channels of a group norm."""
        return math.gcd(GROUPS, self.shape[1])

    @property
    def grouped(self) -> Shape:
        """The shape of ``x`` as a group norm folds it: images, groups, and the elements of a group."""
        return self.shape[0], self.groups, prod(self.shape[1:]) // self.groups

    @property
    def spread(self) -> Shape:
        """The shape in which weight and bias broadcast to ``x``."""
        axes = (1,) if self.base in CHANNELS else self.axes
        return tuple(n if a in axes else 1 for a, n in enumerate(self.shape))

    def shape_of(self, role: str) -> Shape:
        """The shape of an input or a result, by its role in ``Operation``."""
        if role in ("weight", "bias", "channels", "mean", "var", "running"):
            return (self.shape[1],) if self.base in CHANNELS else tuple(self.shape[a] for a in self.axes)
        if role == "total":
            return ()
        if role == "bits" or (self.dtype == BIT and role in ("elements", "twin")):
            return words_shape(self.shape, flat=True)
        return self.kept if role in ("rows", "values", "target", "count", "truth") else self.shape

    def dtype_of(self, role: str) -> DType:
        """The element type of an input or a result, by its role in ``Operation``."""
        if self.what in _NORMS and role in _AFFINE:
            return F32  # beside statistics of f32 PyTorch takes no others
        own = {
            "rows": F32, "total": F32, "bytes": F8E4M3FN, "target": I64, "bits": I32, "mask": BOOL, "count": I64,
            "truth": BOOL,
            **dict.fromkeys(("channels", "mean", "var", "running"), F32),
        }  # fmt: skip
        return own.get(role, I32 if self.dtype == BIT else self.dtype)

    @cached_property
    def nbytes(self) -> int:
        """Bytes that must move: each input is read as often as it must be, and each result is written once."""
        return self.operation.reads * self.dtype.nbytes(prod(self.shape)) + self.moved

    @property
    def moved(self) -> int:
        """Bytes of all inputs that must be read beside ``x``, and of the results."""
        roles = [r for r in (*self.operation.inputs, *self.operation.results) if r not in UNMOVED]
        times = dict.fromkeys(("gradient", "like"), self.operation.reads)
        return sum(times.get(r, 1) * prod(self.shape_of(r)) * self.dtype_of(r).itemsize for r in roles)

    @property
    def contiguous(self) -> bool:
        """Whether it works on contiguous rows: on the last axis, or on whole groups of channels."""
        return self.axes == (len(self.shape) - 1,) or self.base == "groupnorm"

    @property
    def length(self) -> int:
        """Elements that are folded together."""
        return self.grouped[-1] if self.base == "groupnorm" else prod(self.shape[a] for a in self.axes)

    @property
    def goal(self) -> float | None:
        """The fraction of a copy's speed that it should reach; None for a small case."""
        if self.nbytes < GATED_BYTES or self.what in WHOLE:
            return None
        if self.what in ELEMENTWISE:
            return 0.95
        if self.is_backward and "weight" in self.operation.results:
            return 0.85
        if not self.contiguous:
            return 0.88
        if self.length * self.dtype.itemsize % ACCESS:
            return 0.90
        return 0.95 if self.length <= SHORT else 0.93 if self.length <= MEDIUM else 0.88


def parse(name: str) -> ProgramCase | None:
    """The case that ``name`` describes; None for a malformed name."""
    operation, *rest = name.split(".")
    if len(rest) != 2 or rest[0] not in DTYPES:
        return None
    what, digits = split(operation)
    shape = sizes(rest[1])
    axes = _axes(what, digits, len(shape))
    dtype = DTYPES[rest[0]]
    if what not in OPERATIONS or not shape or axes is None or (dtype == BIT) != (what in OF_BITS):
        return None
    return ProgramCase(name, what, dtype, shape, axes)


def split(operation: str) -> tuple[str, str]:
    """The operation and the digits of its axes."""
    what = operation if operation in OPERATIONS else operation.rstrip("0123456789")
    return what, operation.removeprefix(what)


def base_of(what: str) -> str:
    """The operation of which another one computes the gradients; itself if it computes none."""
    return next((what.removesuffix(end) for end in BACKWARDS if what.endswith(end)), what)


def _axes(what: str, digits: str, rank: int) -> tuple[int, ...] | None:
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


def _all(text: str) -> dict[str, ProgramCase]:
    found = {name: parse(name) for name in text.split()}
    return {name: case for name, case in found.items() if case}


STANDARD = _all("""
    softmax.f32.1048576x64 softmax.f32.32768x1024 softmax.bf16.32768x4096 softmax.bf16.16384x32768
    softmax.bf16.4096x131072 softmax.f32.8191x8191 softmax.bf16.64x1048576 softmax.bf16.12x128x1000x77
    softmax0.f32.8192x8192 softmax1.f32.64x256x56x56 log_softmax.bf16.8192x32000
    layernorm.bf16.32768x4096 layernorm.bf16.32768x8192 layernorm.f32.65536x768 layernorm.bf16.50000x1000
    rmsnorm.bf16.32768x4096 rmsnorm.bf16.8192x32768 rmsnorm.f32.4096x5000 add_rmsnorm.bf16.32768x4096
    quant_fp8.bf16.32768x4096 cross_entropy.bf16.8192x32000 cross_entropy.bf16.4096x131072
    groupnorm.f32.64x256x56x56 batchnorm.f32.64x256x56x56 batchnorm_nhwc.bf16.64x256x56x56
    var_norm_cols.f32.65536x1024
""")
"""The shapes for which the peers were built, and some that they serve badly."""
SHAPES = _all("""
    softmax.bf16.32768x4097 softmax.f32.65536x1001 softmax.bf16.8192x32003 softmax.f16.131072x509
    softmax.f64.8191x4097 log_softmax.f32.8191x8191 layernorm.bf16.32768x4097 layernorm.f32.65536x769
    rmsnorm.bf16.32768x4095 rmsnorm.bf16.8192x32001 add_rmsnorm.bf16.32768x4099 quant_fp8.bf16.65536x2047
    cross_entropy.bf16.8192x50257 cross_entropy.f32.8191x8191 logsumexp.bf16.8192x32001
    softmax.bf16.16x4M softmax.f32.64x1M softmax.bf16.132x262144 softmax.f32.1x64M log_softmax.bf16.64x1M
    layernorm.bf16.64x1M rmsnorm.f32.8x8M cross_entropy.bf16.64x1M logsumexp.f32.64x1M
    softmax0.bf16.8192x8192 softmax0.f32.1Mx64 softmax0.f32.64x1M softmax1.bf16.64x1024x1024 softmax1.f32.32x21x512x512
    softmax23.f32.64x256x56x56 log_softmax1.bf16.32x21x512x512 layernorm1.f32.64x256x56x56 layernorm0.bf16.8192x8192
    rmsnorm0.f32.4096x16384 standardize0.f32.8191x8191
    softmax.bf16.8x16x1024x1024 softmax.f16.64x12x577x577 layernorm.bf16.64x577x1024 rmsnorm.bf16.16x2048x4096
    softmax.f32.16Mx3 softmax.f32.4Mx10 softmax.bf16.1Mx197 softmax.f32.1Mx100 softmax.bf16.4Mx33
    layernorm.f32.1Mx32 layernorm.f32.1Mx96 rmsnorm.bf16.1Mx128 log_softmax.f32.4Mx10 cross_entropy.f32.4Mx10
    softmin.f32.32768x1024 standardize.f32.65536x1000 groupnorm.bf16.16x320x64x64 batchnorm.f32.65536x1024
    quant_fp8.f32.65536x1024
    softmax.f32.64x1024 softmax.bf16.64x1024 softmax.f32.8x128 log_softmax.f32.64x1000 layernorm.bf16.64x1024
    layernorm.f32.1x4096 rmsnorm.bf16.1x4096 rmsnorm.bf16.64x4096 cross_entropy.f32.64x1000
""")
"""Odd lengths, few long rows, other axes, more dims, short rows, and small arrays."""
MASKS = _all("""
    relu.f32.128M relu_bits.f32.128M relu_backward.f32.128M add.f32.128M add_relu.f32.128M add_relu_bits.f32.128M
    where.f32.128M relu.bf16.128M relu_bits.bf16.128M relu_backward.bf16.128M add_relu_bits.bf16.128M
    relu_bits.f32.134217x1000 relu_backward.f32.134217x1000 relu_bits.bf16.8191x8191 relu.bf16.64x256x56x56
    where.bf16.32768x4096
    batchnorm.f32.64x256x56x56 batchnorm_relu.f32.64x256x56x56 batchnorm_relu.bf16.64x256x56x56
    batchnorm_nhwc.bf16.64x256x56x56 batchnorm_relu_nhwc.bf16.64x256x56x56
    relu.f32.134217x1000 relu.bf16.8191x8191 add_relu.bf16.128M
    dropout.f32.128M dropout.bf16.128M dropout_backward.f32.128M dropout_backward.bf16.128M
    count_nonzero.bit.4096M array_equal.bit.4096M
    sum.f32.128M sum_where.f32.128M sum.bf16.128M sum_where.bf16.128M
    batchnorm_running_relu.f32.64x256x56x56 batchnorm_add_relu.f32.64x256x56x56
    batchnorm_relu_bwd.f32.64x256x56x56 batchnorm_add_relu_backward.f32.64x256x56x56
    batchnorm_running_relu_nhwc.bf16.64x256x56x56 batchnorm_add_relu_nhwc.bf16.64x256x56x56
    batchnorm_relu_nhwc_bwd.bf16.64x256x56x56 batchnorm_add_relu_backward_nhwc.bf16.64x256x56x56
""")
"""Masks as bits, elementwise programs, and batch norms with a ReLU."""
FUSED = STANDARD | SHAPES | MASKS
BACKWARD = _all("""
    softmax_bwd.bf16.32768x4096 softmax_bwd.f32.8191x8191 layernorm_bwd.bf16.32768x4096 layernorm_bwd.f32.65536x768
    rmsnorm_bwd.bf16.32768x4096 cross_entropy_fwdbwd.bf16.8192x32000 batchnorm_relu_bwd.f32.64x256x56x56
    relu_backward.f32.128M
    softmax_bwd.f32.32768x1024 softmax_bwd0.f32.8192x8192 log_softmax_bwd.bf16.8192x32000
    layernorm_bwd.bf16.50000x1000 layernorm_bwd.bf16.16384x8192 rmsnorm_bwd.f32.4096x5000
    add_rmsnorm_bwd.bf16.32768x4096 groupnorm_bwd.f32.64x256x56x56 batchnorm_bwd.f32.64x256x56x56
    batchnorm_nhwc_bwd.bf16.64x256x56x56 cross_entropy_fwdbwd.f32.8191x8191
""")
"""Gradients: first those of the shapes for which the peers were built, then odd lengths, other axes and channels."""
SCANS = _all("""
    cumsum.f32.256M cumsum.bf16.128M cumsum.f64.64M cumsum.f32.16M cumsum.f32.1M cumsum.f32.10000019
    cumsum.f32.4096x32000 cumsum.bf16.32768x4096 cumsum.f32.65536x1024 cumsum.f32.1Mx64 cumsum.f32.4096x8191
    cumsum.f32.300x100000 cumsum.f32.16x4M
    cumsum0.f32.8192x8192 cumsum0.f32.131072x512 cumsum0.bf16.8192x8192 cumsum0.f32.1Mx8 cumsum1.f32.64x1024x1024
    cummax.f32.256M cummax0.f32.8192x8192 logcumsumexp.f32.4096x32000 recurrence.f32.128M recurrence.f32.4096x16000
""")
"""Scans: along one axis, of rows and of columns, and the linear recurrence h = a h + b."""
BACKWARD_GOAL = 1.18
"""How many times as fast as the best peers they should be, as a geometric mean."""
