"""Formulas of an element's word, which NumPy can evaluate for every value that the element can have.

The caller names the leaves of a formula; its ops are those that NumPy has, too. A NaN becomes what PTX makes of it: the
one NaN with all bits set but the sign.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir
from ...compiler.postorder import postorder

Bits = npt.NDArray[np.uint64]
_NAN = np.uint32(0x7FFFFFFF)


@dataclass(frozen=True, eq=False)
class Formula:
    """A value as an expression of ops and leaves. Formulas with the same digest are equal.

    Attributes:
        op: the name of an op, or of a leaf.
        kind: the type of the value, or of one element.
        args: the formulas of the op's operands.
        value: the bits of a constant.
    """

    op: str
    kind: str = "i64"
    args: tuple[Formula, ...] = field(default=(), repr=False)
    value: int = 0
    digest: bytes = field(init=False)

    def __post_init__(self) -> None:
        own = f"{self.op}|{self.kind}|{self.value}|".encode()
        digest = hashlib.blake2b(own + b"".join(x.digest for x in self.args), digest_size=16).digest()
        object.__setattr__(self, "digest", digest)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Formula) and self.digest == other.digest

    @property
    def bits(self) -> int:
        """The number of bits of the type."""
        return int(self.kind.lstrip("bfi"))


def formula_of(v: Any, leaves: dict[Any, Formula]) -> Formula:
    """The formula of an element of ``v``, which ops known to ``has`` compute from the leaves; constants are folded."""
    for x in postorder([v], lambda x: list(x.owner.operands), leaves):
        op, kind = x.owner.operation, str(element(x.type))
        if op.name == CONSTANT:
            leaves[x] = constant_of(kind, _constant(x))
        else:
            leaves[x] = _folded(Formula(op.name, kind, tuple(leaves[y] for y in op.operands)))
    return leaves[v]


def constant_of(kind: str, value: int) -> Formula:
    """The formula of a constant, from the bits of a signed or an unsigned integer."""
    return Formula(CONSTANT, kind, value=value & ((1 << Formula(CONSTANT, kind).bits) - 1))


def _folded(f: Formula) -> Formula:
    """The formula with constants folded and broadcasts removed."""
    if f.op == "vector.broadcast":
        return f.args[0]
    if all(x.op == CONSTANT for x in f.args):
        return constant_of(f.kind, int(tried(f, {})[0]))
    if f.op == "arith.select" and f.args[0].op == CONSTANT:
        return f.args[1 if f.args[0].value else 2]
    return f


def has(op: Any) -> bool:
    """Whether a formula can contain ``op``."""
    if op.name == "arith.cmpi":
        return bool(ir.IntegerAttr(op.attributes["predicate"]).value == int(arith.CmpIPredicate.ult))
    return op.name in (*_OPS, *_TYPED, CONSTANT)


def tried(formula: Formula, leaves: Mapping[str, Bits]) -> Bits:
    """The bits of a formula for these bits of its leaves, truncated to its type."""
    memo: dict[Formula, Bits] = {}
    for f in postorder([formula], lambda f: f.args):
        memo[f] = leaves[f.op] if f.op in leaves else _tried(f, [memo[x] for x in f.args])
    return memo[formula]


def _tried(f: Formula, args: Sequence[Bits]) -> Bits:
    """The bits of one op of a formula, from the bits of its operands."""
    if f.op == CONSTANT:
        return np.array([f.value], np.uint64)
    made = _TYPED[f.op](f, *args) if f.op in _TYPED else _OPS[f.op](*args)
    found: Bits = made.view(np.uint64) & np.uint64((1 << f.bits) - 1)
    return found


def with_sign(bits: Bits, width: int) -> npt.NDArray[np.int64]:
    """Integers of ``width`` bits, sign-extended."""
    above = 64 - width
    return (bits << np.uint64(above)).view(np.int64) >> np.int64(above)


def _constant(v: Any) -> int:
    """The bits of a constant with equal elements; an integer keeps its sign."""
    value = v.owner.attributes["value"]
    found = ir.DenseElementsAttr(value).get_splat_value().value if isinstance(v.type, ir.VectorType) else value.value
    return int(np.float32(found).view(np.uint32) if isinstance(element(v.type), ir.FloatType) else found)


def _widened(f: Formula, x: Bits) -> Bits:
    """The bits of 16-bit floats as f32."""
    if f.args[0].kind == "bf16":
        return x << np.uint64(16)
    return x.astype(np.uint16).view(np.float16).astype(np.float32).view(np.uint32).astype(np.uint64)


def _of_floats(join: Callable[[Any, Any], Any]) -> Callable[..., Bits]:
    """``join`` as a function of the bits of two f32."""

    def bits(*operands: Bits) -> Bits:
        x, y = (v.astype(np.uint32).view(np.float32) for v in operands)
        with np.errstate(all="ignore"):
            found = join(x, y)
        return np.where(np.isnan(found), _NAN, found.view(np.uint32)).astype(np.uint64)

    return bits


CONSTANT = "arith.constant"
_OPS: dict[str, Callable[..., Any]] = {
    "vector.broadcast": np.asarray,
    "arith.bitcast": np.asarray,
    "arith.extui": np.asarray,
    "arith.addf": _of_floats(np.add),
    "arith.subf": _of_floats(np.subtract),
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.minui": np.minimum,
    "arith.shli": np.left_shift,
    "arith.cmpi": lambda x, y: (x < y).astype(np.uint64),
    "arith.select": lambda c, x, y: np.where(c.astype(bool), x, y),
}
_TYPED: dict[str, Callable[..., Any]] = {
    "arith.extf": _widened,
    "arith.extsi": lambda f, x: with_sign(x, f.args[0].bits),
    "arith.shrsi": lambda f, x, y: with_sign(x, f.bits) >> y.view(np.int64),
}
"""Ops whose results depend on their types: these functions get the formula, too."""
