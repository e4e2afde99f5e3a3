"""How an element's words are made, as formulas that can be tried in NumPy for all elements that there are.

A formula has as its leaves what the caller says, and is of ops that NumPy has, too. What a NaN becomes is PTX's: the
one NaN which has all bits but the sign.
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
    """How a value is made. Formulas are equal that have the same digest.

    Attributes:
        op: the name of an op, or of a leaf.
        kind: the type of the value, or of one element.
        args: those of the op's operands.
        value: of a constant, its bits.
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
        """Those of the type."""
        return int(self.kind.lstrip("bfi"))


def formula_of(v: Any, leaves: dict[Any, Formula]) -> Formula:
    """How an element of ``v``, which is made of the leaves by ops that ``has`` knows, is made; constants are folded."""
    for x in postorder([v], lambda x: list(x.owner.operands), leaves):
        op, kind = x.owner.operation, str(element(x.type))
        if op.name == CONSTANT:
            leaves[x] = constant_of(kind, _constant(x))
        else:
            leaves[x] = _folded(Formula(op.name, kind, tuple(leaves[y] for y in op.operands)))
    return leaves[v]


def constant_of(kind: str, value: int) -> Formula:
    """A number by its bits, of an integer with a sign or without."""
    return Formula(CONSTANT, kind, value=value & ((1 << Formula(CONSTANT, kind).bits) - 1))


def _folded(f: Formula) -> Formula:
    """A formula without what is known of it beforehand."""
    if f.op == "vector.broadcast":
        return f.args[0]
    if all(x.op == CONSTANT for x in f.args):
        return constant_of(f.kind, int(tried(f, {})[0]))
    if f.op == "arith.select" and f.args[0].op == CONSTANT:
        return f.args[1 if f.args[0].value else 2]
    return f


def has(op: Any) -> bool:
    """Whether a formula may have ``op``."""
    if op.name == "arith.cmpi":
        return bool(ir.IntegerAttr(op.attributes["predicate"]).value == int(arith.CmpIPredicate.ult))
    return op.name in (*_OPS, *_TYPED, CONSTANT)


def tried(formula: Formula, leaves: Mapping[str, Bits]) -> Bits:
    """The bits that a formula gives where its leaves have these; what its type has no room for is cut off."""
    memo: dict[Formula, Bits] = {}
    for f in postorder([formula], lambda f: f.args):
        memo[f] = leaves[f.op] if f.op in leaves else _tried(f, [memo[x] for x in f.args])
    return memo[formula]


def _tried(f: Formula, args: Sequence[Bits]) -> Bits:
    """The same of one formula, from that of its operands."""
    if f.op == CONSTANT:
        return np.array([f.value], np.uint64)
    made = _TYPED[f.op](f, *args) if f.op in _TYPED else _OPS[f.op](*args)
    found: Bits = made.view(np.uint64) & np.uint64((1 << f.bits) - 1)
    return found


def with_sign(bits: Bits, width: int) -> npt.NDArray[np.int64]:
    """Integers of so many bits as numbers with a sign."""
    above = 64 - width
    return (bits << np.uint64(above)).view(np.int64) >> np.int64(above)


def _constant(v: Any) -> int:
    """The bits of a constant, all of whose elements are the same; an integer's have its sign."""
    value = v.owner.attributes["value"]
    found = ir.DenseElementsAttr(value).get_splat_value().value if isinstance(v.type, ir.VectorType) else value.value
    return int(np.float32(found).view(np.uint32) if isinstance(element(v.type), ir.FloatType) else found)


def _widened(f: Formula, x: Bits) -> Bits:
    """Floats of 16 bits as f32."""
    if f.args[0].kind == "bf16":
        return x << np.uint64(16)
    return x.astype(np.uint16).view(np.float16).astype(np.float32).view(np.uint32).astype(np.uint64)


def _of_floats(join: Callable[[Any, Any], Any]) -> Callable[..., Bits]:
    """``join`` of two f32."""

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
"""Ops whose results depend on the types, which they are told."""
