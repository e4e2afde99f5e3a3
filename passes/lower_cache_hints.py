"""Lowers cache hints: accesses through a hinted pointer tell the L2 cache what to do with their lines.

Upstream has no such accesses, so they become inline PTX: of 16, 8 or 4 bytes, as words of 32 or 64 bits. Others, and
all on targets without cache policies, stay as they are. Loads and asynchronous copies of ``whole_lines``, also of 2
bytes, have no policy: they say that the cache is to read 128 bytes.

A copy with a policy that fills the end of its bytes with zeros has an address that ``ptxas`` cannot take apart. Of one
that is a uniform register and another, ``ptxas`` 13.0 and 13.5 make an instruction that GPUs of sm_90 refuse to run.

Read once and not again:

```mlir before
func.func @last_use(%x: !llvm.ptr<1>, %i: i32) -> f32 {
  %hinted = "fold.cached"(%x) {policy = "evict_first"} : (!llvm.ptr<1>) -> !llvm.ptr<1>
  %where = llvm.getelementptr %hinted[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %element = llvm.load %where {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  return %element : f32
}
```

```mlir after
func.func @last_use(%x: !llvm.ptr<1>, %i: i32) -> f32 {
  %policy = llvm.inline_asm "createpolicy.fractional.L2::evict_first.b64 $0, 1.0;", "=l" : () -> i64
  %where = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %word = llvm.inline_asm has_side_effects "ld.global.L2::cache_hint.b32 $0, [$1], $2;", "=r,l,l" %where, %policy
    : (!llvm.ptr<1>, i64) -> i32
  %element = llvm.bitcast %word : i32 to f32
  return %element : f32
}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..compiler.driver.pipeline import Pass
from ..compiler.ir.attributes import target_of
from ..compiler.ir.build import before, bytes_of, enclosing, find, replace
from ..compiler.ir.combine import width
from ..compiler.ir.dialect.access import POLICIES
from ..compiler.ir.dialect.base import element, int_attr, str_attr
from ..compiler.ir.mlir import ir, llvm

WORDS = {2: ("b16", 1), 4: ("b32", 1), 8: ("b64", 1), 16: ("v4.b32", 4)}
"""For each size of an access in bytes: the type of the instruction, and its words."""


COPY = "nvvm.cp.async.shared.global"
LINES = "L2::128B"
"""What has the cache read whole lines."""


def _run(module: Any) -> None:
    for op in find(module, "fold.cached"):
        kernel = enclosing(op, "gpu.func", "func.func")
        outer = kernel.parent.operation
        if target_of(outer if outer.name == "gpu.module" else kernel).has_cache_policies:
            least = 2 if str_attr(op, "policy", POLICIES) == "whole_lines" else 4
            accesses = [o for o in _accesses(op.results[0]) if _bytes(o) in WORDS and _bytes(o) >= least]
            if accesses:
                _hint(op, accesses)
        replace(op, [op.operands[0]])


def _accesses(pointer: Any) -> Iterator[Any]:
    """The loads and stores through a pointer."""
    for use in pointer.uses:
        user = use.owner.operation
        if user.name == "llvm.getelementptr":
            yield from _accesses(user.results[0])
        elif user.name in ("llvm.load", "llvm.store", COPY):
            yield user


def _bytes(access: Any) -> int:
    """The bytes of an access."""
    if access.name == COPY:
        return int_attr(access, "size")
    t = access.results[0].type if access.results else access.operands[0].type
    return width(t) * bytes_of(element(t))


def _hint(op: Any, accesses: list[Any]) -> None:
    if str_attr(op, "policy", POLICIES) == "whole_lines":
        for access in (o for o in accesses if o.name != "llvm.store"):
            with before(access):
                replace(access, [_load(access, LINES)] if access.name == "llvm.load" else _copy(access, LINES))
        return
    with before(op):
        made = f"createpolicy.fractional.L2::{str_attr(op, 'policy', POLICIES)}.b64 $0, 1.0;"
        word = ir.IntegerType.get_signless(64)
        policy = llvm.inline_asm(word, [], made, "=l")
        zero = _opaque_zero() if any(map(_fills, accesses)) else None
    for access in accesses:
        with before(access):
            if access.name == "llvm.load":
                replace(access, [_load(access, "L2::cache_hint", policy)])
            elif access.name == COPY:
                replace(access, _copy(access, "L2::cache_hint", policy, zero=zero if _fills(access) else None))
            else:
                _store(access, policy)
                replace(access, [])


def _fills(access: Any) -> bool:
    """Whether an access is a copy with a number of bytes to read, behind which zeros follow."""
    return bool(access.name == COPY and len(access.operands) > 2)


def _opaque_zero() -> Any:
    """A zero that neither LLVM nor ``ptxas`` knows: a grid has fewer than 2^16 CTAs along z."""
    text = "{ mov.u32 $0, %nctaid.z; shr.b32 $0, $0, 16; }"
    return llvm.inline_asm(ir.IntegerType.get_signless(32), [], text, "=r")


def _load(access: Any, hint: str, *policy: Any) -> Any:
    """The value of a load with a hint, which may have a policy."""
    kind, count = WORDS[_bytes(access)]
    word = _word(_bytes(access) // count)
    letter = _letter(word)
    names = [f"${i}" for i in range(count)]
    into = names[0] if count == 1 else "{" + ", ".join(names) + "}"
    nc = ".nc" if "invariant" in access.attributes else ""
    text = f"ld.global{nc}.{hint}.{kind} {into}, [${count}]" + f", ${count + 1}" * len(policy) + ";"
    constraints = ",".join([f"={letter}"] * count + ["l"] * (1 + len(policy)))
    operands = [access.operands[0], *policy]
    wanted = access.results[0].type
    if count == 1:
        return _as(llvm.inline_asm(word, operands, text, constraints, has_side_effects=True), wanted)
    struct = ir.Type.parse(f"!llvm.struct<({', '.join([str(word)] * count)})>")
    found = llvm.inline_asm(struct, operands, text, constraints, has_side_effects=True)
    words = ir.VectorType.get([count], word)
    value = llvm.mlir_undef(words)
    for i in range(count):
        part = llvm.extractvalue(word, found, ir.DenseI64ArrayAttr.get([i]))
        value = llvm.insertelement(value, part, _number(i))
    return _as(value, wanted)


def _store(access: Any, policy: Any) -> None:
    """A store with a policy."""
    value, where = access.operands
    kind, count = WORDS[_bytes(access)]
    word = _word(_bytes(access) // count)
    value = _as(value, word if count == 1 else ir.VectorType.get([count], word))
    words = [value] if count == 1 else [llvm.extractelement(value, _number(i)) for i in range(count)]
    names = [f"${i + 1}" for i in range(count)]
    out = names[0] if count == 1 else "{" + ", ".join(names) + "}"
    text = f"st.global.L2::cache_hint.{kind} [$0], {out}, ${count + 1};"
    constraints = ",".join(["l", *[_letter(word)] * count, "l"])
    llvm.inline_asm(None, [where, *words, policy], text, constraints, has_side_effects=True)


def _copy(access: Any, hint: str, *policy: Any, zero: Any = None) -> list[Any]:
    """Makes a copy to shared memory with a hint, which may have a policy; it has no results."""
    operands, nbytes = list(access.operands), _bytes(access)
    to = llvm.ptrtoint(ir.IntegerType.get_signless(32), operands[0])
    if zero is not None:
        to = llvm.xor(to, zero)
    cache = "cg" if nbytes == 16 else "ca"
    last = [*operands[2:], *policy]
    names = "".join(f", ${2 + i}" for i in range(len(last)))
    constraints = ",".join(["r", "l", *["r"] * (len(operands) - 2), *["l"] * len(policy)])
    text = f"cp.async.{cache}.shared.global.{hint} [$0], [$1], {nbytes}{names};"
    llvm.inline_asm(None, [to, operands[1], *last], text, constraints, has_side_effects=True)
    return []


def _as(value: Any, t: Any) -> Any:
    return value if value.type == t else llvm.bitcast(t, value)


def _word(nbytes: int) -> Any:
    return ir.IntegerType.get_signless(8 * nbytes)


def _letter(word: Any) -> str:
    """The constraint of a register for a word."""
    return {16: "h", 32: "r", 64: "l"}[word.width]


def _number(i: int) -> Any:
    t = ir.IntegerType.get_signless(32)
    return llvm.mlir_constant(ir.IntegerAttr.get(t, i))


PASS = Pass("lower-cache-hints", _run, ("fold.cached",), "give accesses the cache policies of their pointers")
