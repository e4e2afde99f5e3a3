"""The opcodes that integers and floats share: the type decides which family builds them."""

from __future__ import annotations

from ..ptx.types import is_float
from . import floating, integer
from .op import Builder, Form, Op


def _either(of_float: Builder, of_integer: Builder) -> Builder:
    def build(form: Form) -> Op | list[Op]:
        return (of_float if form.left and is_float(form.left[-1]) else of_integer)(form)

    return build


TABLE: dict[str, Builder] = {
    "add": _either(floating.arithmetic_form("add", 2), integer.add),
    "sub": _either(floating.arithmetic_form("sub", 2), integer.sub),
    "mul": _either(floating.arithmetic_form("mul", 2), integer.mul),
    "mad": _either(floating.arithmetic_form("fma", 3), integer.mad),
    "fma": floating.arithmetic_form("fma", 3),
    "div": _either(floating.arithmetic_form("div", 2), integer.div),
    "min": _either(floating.extreme_form("min"), integer.extreme("min")),
    "max": _either(floating.extreme_form("max"), integer.extreme("max")),
    "abs": _either(floating.magnitude_form("abs"), integer.abs_),
    "neg": _either(floating.magnitude_form("neg"), integer.neg),
}
