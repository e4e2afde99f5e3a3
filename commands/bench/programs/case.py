"""A program case of the benchmark, fully described by its name.

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

from ....compiler.dtypes import BF16, BIT, BOOL, F8E4M3FN, F16, F32, F64, I32, I64, DType
from ....compiler.program.bit_arrays import words_shape
from ..cases import sizes
from .operations import (
    AFFINE,
    CHANNELS,
    ELEMENTWISE,
    NORMS,
    OF_BITS,
    OPERATIONS,
    UNMOVED,
    WHOLE,
    Operation,
    axes_of,
    base_of,
    split,
)

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
TOP = 4
"""How many elements of each row a top-k chooses."""
DROPPED = 0.1
"""The probability with which a dropout drops an element."""
ACCESS = 16
"""Bytes of the widest access; rows of a multiple of it all begin at such a boundary."""
SHORT, MEDIUM = 1 << 14, 1 << 18
"""Elements of a row up to which a goal applies."""

Shape = tuple[int, ...]


@dataclass(frozen=True)
class ProgramCase:
    """One program on arrays of one size.

    Attributes:
        name: the name, as the module describes it.
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
        if role == "chosen":
            return tuple(TOP if a in self.axes else n for a, n in enumerate(self.shape))
        if role == "bits" or (self.dtype == BIT and role in ("elements", "twin")):
            return words_shape(self.shape, flat=True)
        return self.kept if role in ("rows", "values", "target", "count", "truth") else self.shape

    def dtype_of(self, role: str) -> DType:
        """The element type of an input or a result, by its role in ``Operation``."""
        if self.what in NORMS and role in AFFINE:
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
    axes = axes_of(what, digits, len(shape))
    dtype = DTYPES[rest[0]]
    if what not in OPERATIONS or not shape or axes is None or (dtype == BIT) != (what in OF_BITS):
        return None
    return ProgramCase(name, what, dtype, shape, axes)
