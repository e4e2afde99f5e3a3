"""Formulas of an element's word, which NumPy can evaluate for every value that the element can have.

The caller names the leaves of a formula; its ops are those that NumPy has, too. A NaN becomes what PTX makes of it: the
one NaN with all bits set but the sign.

Order keys: signed integers that order narrow elements as argmin or argmax does.

A key is as wide as its element, and the element with the least key comes first. The keys of a register are made
together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...compiler.ir.build import i32
from ...compiler.ir.combine import constant, splat, width, with_shape
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir, math
from ...compiler.postorder import postorder
from .packing import as_words, high_bits, permuted, tested_bytes

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


WORD = 32
BITS = {"i1": 8, "i8": 8, "i16": 16, "bf16": 16, "f16": 16}
"""The bits of a key, by the type of the element."""
_FLOATS = {"bf16": 0x7F80, "f16": 0x7C00}
"""The bits of infinity, by the 16-bit float type."""
_SIGNS, _SIGN_BITS = 0xBB99, -0x7FFF8000
"""A selector of ``prmt`` that fills each half of a word with its sign, and the sign bits of both halves."""


@dataclass(frozen=True)
class Key:
    """The function from elements to signed integers, the least of which comes first.

    Attributes:
        bits: 8 or 16; 32 for a float that is its own key, of which the greatest comes first.
        turned: the bits to flip, for integers and for truth values (which are the high bit of a byte).
        sign: for floats 1 or -1: the greatest ``sign * x`` comes first, a NaN before it, and zeros are equal. Else 0.
        infinity: for floats, the bits of infinity.
    """

    bits: int
    turned: int = 0
    sign: int = 0
    infinity: int = 0

    def of(self, bits: Bits) -> Bits:
        """The keys of elements with these bits, as unsigned integers in the same order."""
        half = np.uint64(1 << self.bits - 1)
        if not self.sign:
            return bits ^ np.uint64(self.turned) ^ half
        magnitude = bits & ~half
        bits = np.where(magnitude == 0, magnitude, bits ^ half * np.uint64(self.sign < 0))
        bits = np.where(magnitude > np.uint64(self.infinity), half - np.uint64(1), bits)
        return np.where(bits & half, bits, ~bits & ~half & np.uint64(0xFFFF))

    def words(self, source: Any) -> list[Any]:
        """The keys of a fragment, packed in words."""
        if self.sign:
            return [self._of_floats(w) for w in as_words(self.plain(source))]
        turned = self.turned * (1 if self.bits == 16 else 0x0101) * 0x00010001
        words = as_words(source) if tested_bytes(source) is None else [high_bits(w) for w in as_words(tested(source))]
        return [arith.xori(w, i32(_with_sign(turned))) for w in words] if turned else words

    def plain(self, source: Any) -> Any:
        """``sign`` times the floats, with one zero (+0) and one NaN (all bits but the sign)."""
        t, lanes = element(source.type), width(source.type)
        one, zero = (constant(ir.FloatAttr.get(t, x), lanes) for x in (self.sign, 0.0))
        return math.fma(source, one, zero)

    @staticmethod
    def _of_floats(w: Any) -> Any:
        signs = permuted(w, w, _SIGNS)
        return arith.xori(w, arith.ori(arith.xori(signs, i32(-1)), i32(_SIGN_BITS)))

    def elements(self, keys: Any, t: Any) -> Any:
        """The elements of type ``t`` with the given keys, which are i32, or floats for keys of 32 bits."""
        if self.bits == WORD:
            return keys if self.sign > 0 else arith.negf(keys)
        lanes = width(keys.type)
        like = with_shape(t, lanes)

        def number(n: int) -> Any:
            return splat(i32(n), lanes)

        if not self.sign:
            bits = arith.xori(keys, number(self.turned))
            if str(t) == "i1":
                return arith.cmpi(arith.CmpIPredicate.ne, arith.andi(bits, number(0x80)), number(0))
            return arith.trunci(like, bits)
        bits = arith.xori(keys, number(-1))
        bits = arith.xori(bits, arith.andi(arith.shrsi(bits, number(15)), number(0x7FFF)))
        bits = bits if self.sign > 0 else arith.xori(bits, number(0x8000))
        return arith.bitcast(like, arith.trunci(with_shape(ir.IntegerType.get_signless(16), lanes), bits))


def key_like(kind: str, elements: Bits, ranks: Any) -> Key | None:
    """The key that orders all ``elements`` of the type ``kind`` as their ``ranks`` do; None if there is none."""
    bits = elements << np.uint64(7) if kind == "i1" else elements
    return next((key for key in _keys(kind) if _same_order(key.of(bits), ranks)), None)


def _keys(kind: str) -> list[Key]:
    """The keys that elements of the type ``kind`` may have."""
    if kind in _FLOATS:
        return [Key(16, sign=sign, infinity=_FLOATS[kind]) for sign in (1, -1)]
    sign = 1 << BITS[kind] - 1
    return [Key(BITS[kind], turned) for turned in (0, 2 * sign - 1, sign, sign - 1)]


def _same_order(keys: Bits, ranks: Any) -> bool:
    """Whether keys and ranks order all pairs of elements alike, ties included."""
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    keys, ranks = keys[order], ranks[order]
    rises = ranks[1:] > ranks[:-1]
    return bool((rises == (keys[1:] != keys[:-1])).all() and (ranks[1:] >= ranks[:-1]).all())


def _with_sign(word: int) -> int:
    return word - (1 << WORD) * (word >> WORD - 1)


def tested(truths: Any) -> Any:
    """The fragment of bytes that ``truths`` compare with zero; None for other values."""
    found = tested_bytes(truths) or []
    return found[0] if len(found) == 1 and str(element(found[0].type)) == "i8" else None
