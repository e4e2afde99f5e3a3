"""The fixed catalogue: one case for every way in which kernels differ. Tests and benchmarks walk it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import warpfold as wf
from warpfold.compiler.program.monoid import Monoid


@wf.monoid(identity=(1.0, 0.0), commutative=False)
def AFFINE(a: Any, b: Any) -> Any:  # noqa: N802
    """The composition of x -> s x + t: first the left one, then the right one. Its order matters."""
    (s, t), (u, v) = a, b
    return s * u, t * u + v


def affine(x: Any) -> Any:
    """A program around a monoid that is not commutative."""
    return wf.fold(AFFINE, x, wf.cast(1.0, x.dtype))[1]


@wf.monoid(identity=(0.0, 0.0, 0.0))
def MOMENTS(a: Any, b: Any) -> Any:  # noqa: N802
    """Three sums at once."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def moments(x: Any) -> Any:
    """A program with three results."""
    return wf.fold(MOMENTS, x, x * x, x * x * x)


@dataclass(frozen=True)
class Case:
    """One reduction: what, of which shape and dtype, over which axes, with which plan options."""

    what: str | Monoid | Callable[..., Any]
    shape: tuple[int, ...]
    dtype: str = "f32"
    axis: int | tuple[int, ...] | None = None
    plan: str = ""

    @property
    def name(self) -> str:
        """A readable identifier."""
        what = self.what if isinstance(self.what, str) else getattr(self.what, "name", None) or self.what.__name__  # type: ignore[union-attr]
        shape = "x".join(map(str, self.shape))
        axis = "all" if self.axis is None else str(self.axis).replace(" ", "")
        return "-".join(filter(None, (what, shape, self.dtype, axis, self.plan)))


_FULL = [
    ("sum", "f32"), ("sum", "f16"), ("sum", "bf16"), ("sum", "i32"), ("sum", "i8"), ("sum", "u64"), ("sum", "bool"),
    ("prod", "f64"), ("prod", "i32"), ("max", "f32"), ("max", "f64"), ("max", "i32"), ("min", "u8"), ("min", "bf16"),
    ("argmax", "f32"), ("argmin", "i64"), ("any", "bool"), ("all", "f32"), ("mean", "f16"), ("mean", "i32"),
    ("var", "f32"), ("var", "f64"), ("norm", "f32"), ("norm", "f64"), ("logsumexp", "f32"), ("logsumexp", "f64"),
]  # fmt: skip

CATALOGUE: tuple[Case, ...] = (
    *(Case(op, (1 << 22,), t) for op, t in _FULL),
    Case("sum", (4096,)),
    Case("sum", (3 << 30,)),
    Case("argmax", (3 << 30,), "i8"),
    Case("argmax", (1 << 22,), "u8"),
    Case("mean", (1 << 22,), "i16"),
    Case("var", (1 << 22,), "f16"),
    Case("logsumexp", (1 << 22,), "bf16"),
    Case("sum", (8192, 8192), "i8", 0),
    Case("argmin", (4096, 4096), "bool", 0),
    Case("sum", (4096, 1024), axis=1),
    Case("sum", (8191, 8191), axis=1),
    Case("sum", (64, 4096), "bf16", 1),
    Case("sum", (100000, 4), axis=1),
    Case("sum", (100000, 7), axis=1),
    Case("max", (4096, 1000), "f16", 1),
    Case("argmax", (4096, 32000), axis=1),
    Case("any", (100000, 16), "bool", 1),
    Case("var", (32768, 4096), axis=1),
    Case("logsumexp", (4096, 32000), axis=1),
    Case("sum", (8192, 8192), axis=0),
    Case("sum", (1 << 20, 64), axis=0),
    Case("sum", (4096, 101), axis=0),
    Case("max", (32768, 1024), "bf16", 0),
    Case("argmin", (4096, 256), "i32", 0),
    Case("var", (65536, 512), axis=0),
    Case("any", (4096, 4096), "bool", 0),
    Case("sum", (64, 1024, 128), axis=1),
    Case("mean", (64, 256, 56, 56), axis=(0, 2, 3)),
    Case("max", (7, 11, 13, 17), "i16", (1, 3)),
    Case("sum", (1 << 20, 31), axis=1),
    Case("sum", (1 << 20, 129), "i8", 1),
    Case("mean_var", (1 << 20, 129), "f16", 1),
    Case("max", (1 << 18, 5, 33), axis=1),
    Case("sum", (1 << 20, 9), axis=0),
    Case("sum", (1 << 20, 33), "i8", 0),
    Case("argmax", (1 << 25, 101), axis=0),
    Case("mean_var", (1 << 20, 9), "f16", 0),
    Case("prod", (1 << 20, 9), "i8", 0),
    Case("logsumexp", (1 << 20, 9), "bool", 0),
    Case("sum", (1 << 16, 257), axis=0),
    Case("sum", (1 << 16, 257), "i16", 0),
    Case("max", (1 << 16, 257), "i16", 0),
    Case("argmax", (1 << 16, 257), "i8", 0),
    Case("argmax", (1 << 14, 4096), "f16", 0),
    Case("argmax", (1 << 14, 4096), "bf16", 1),
    Case("argmin", (1 << 20, 7), "i8", 0),
    Case("argmax", (1 << 18, 300), "bool", 1),
    Case("sum", (1 << 22,), plan="finish=two_kernels"),
    Case("argmax", (1 << 22,), plan="finish=two_kernels"),
    Case("sum", (1 << 22,), "i32", plan="finish=atomic"),
    Case("max", (1 << 20, 64), "i32", 0, "finish=atomic"),
    Case("sum", (1 << 22,), plan="walk=blocked,vector=1"),
    Case("sum", (4096, 1024), axis=1, plan="lanes=8,warps=1,warps_kept=8"),
    Case("sum", (4096, 1024), axis=1, plan="lanes=32,warps=32,warps_kept=1,unroll=1"),
    Case("sum", (4096,), plan="cluster=8,warps=4,unroll=1"),
    Case("sum", (65536,), plan="cluster=8,warps=16"),
    Case("sum", (65536,), "f64", plan="cluster=2,warps=32"),
    Case("any", (65536,), "bool", plan="cluster=4"),
    Case("argmax", (1 << 20,), plan="cluster=4,coarsening=8"),
    Case("sum", (1 << 22,), "i32", plan="cluster=8,finish=atomic"),
    Case("logsumexp", (64, 65536), axis=1, plan="cluster=8"),
    Case("var", (65536, 64), axis=0, plan="cluster=8"),
    Case(affine, (65536,), plan="cluster=8"),
    Case(affine, (1 << 20,)),
    Case(affine, (4096, 100), axis=1),
    Case(affine, (100, 4096), axis=0),
    Case(moments, (1 << 20,)),
    Case(moments, (100, 1000), axis=1),
)
