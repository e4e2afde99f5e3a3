"""Functions and tables that expansions add to the module of the code that uses them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...compiler.ir.combine import elements, fragment
from ...compiler.ir.mlir import ir, llvm


def module_around(op: Any) -> Any:
    """The module around ``op`` that is compiled as a whole."""
    outer = op.operation
    while outer.name not in ("gpu.module", "builtin.module"):
        outer = outer.parent.operation
    return outer


def symbol_table(op: Any) -> Any:
    """The block of the module around ``op``."""
    return module_around(op).regions[0].blocks[0]


def symbols(body: Any) -> set[str]:
    """The names of the symbols defined in a block."""
    operations = [o.operation for o in body.operations]
    return {ir.StringAttr(o.attributes["sym_name"]).value for o in operations if "sym_name" in o.attributes}


def call_of(name: str, expand: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """Calls of the function ``name`` for each element of the operands, which are fragments of one type.

    Its body is what ``expand`` gives for scalars. It is written once a module, however often it is used: code that is
    long would otherwise be copied for every element that a thread has in flight.
    """
    body = symbol_table(ir.InsertionPoint.current.block.owner)
    parts = [elements(x) for x in operands]
    t = parts[0][0].type
    symbol = f"__fold_{name}_{t}"
    if symbol not in symbols(body):
        _define(body, symbol, expand, [t] * len(operands))
    return fragment([_call(symbol, list(values)) for values in zip(*parts, strict=True)])


def _define(body: Any, symbol: str, expand: Callable[..., Any], types: list[Any]) -> None:
    signature = ir.Type.parse(f"!llvm.func<{types[0]} ({', '.join(str(t) for t in types)})>")
    with ir.InsertionPoint.at_block_begin(body):
        function = llvm.LLVMFuncOp(
            symbol, ir.TypeAttr.get(signature), linkage=ir.Attribute.parse("#llvm.linkage<internal>")
        )
    block = function.regions[0].blocks.append(*types)
    with ir.InsertionPoint(block):
        llvm.ReturnOp(arg=expand(*block.arguments))


def _call(symbol: str, operands: list[Any]) -> Any:
    return llvm.CallOp(operands[0].type, operands, [], [], callee=ir.FlatSymbolRefAttr.get(symbol)).result
