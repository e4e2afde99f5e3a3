"""Plan and facts as attributes of the tensor program's function: ``emit`` writes them, ``distribute`` reads them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from .abi import RARE, Facts, Kernel
from .errors import error
from .mlir import ir
from .plan import Plan
from .target import DEFAULT, Target, target

PLAN, FACTS, TARGET = "fold.plan", "fold.facts", "fold.target"
_SAMPLES: dict[str, Plan | Facts] = {PLAN: Plan(), FACTS: Facts(0, 0, 32, (), store_vector=False, ragged=False)}
"""A value of each class, for the types of its fields."""


def write(kernel: Kernel, arch: Target) -> dict[str, Any]:
    """The attributes of a kernel's function."""
    return {
        PLAN: _dictionary(kernel.plan),
        FACTS: _dictionary(kernel.facts),
        TARGET: ir.StringAttr.get(arch.arch),
    }


def read(function: Any) -> tuple[Plan, Facts]:
    """The plan and the facts that a function carries.

    Raises:
        CompileError: WF320 when an attribute is missing, or has other fields or types than its class.
    """
    return Plan(**_fields(function.attributes, PLAN)), Facts(**_fields(function.attributes, FACTS))


def target_of(op: Any) -> Target:
    """The target that a function or a gpu.module is compiled for; without one, the default."""
    return target(ir.StringAttr(op.attributes[TARGET]).value) if TARGET in op.attributes else DEFAULT


def _dictionary(value: Plan | Facts) -> Any:
    found = {f.name: getattr(value, f.name) for f in fields(value)}
    return ir.DictAttr.get({name: _attribute(v) for name, v in found.items() if v or name not in RARE})


def _attribute(value: Any) -> Any:
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if isinstance(value, tuple):
        return ir.ArrayAttr.get([_attribute(v) for v in value])
    return ir.StringAttr.get(value)


def _value(attribute: Any) -> Any:
    """The Python value of an attribute; ValueError for a kind that ``_attribute`` does not make."""
    if isinstance(attribute, ir.BoolAttr | ir.IntegerAttr):
        return attribute.value
    if isinstance(attribute, ir.ArrayAttr):
        return tuple(_value(a) for a in attribute)
    return ir.StringAttr(attribute).value


def _fields(attributes: Any, name: str) -> dict[str, Any]:
    """The fields of a dictionary attribute, which must have the names and types of the sample's."""
    if name not in attributes:
        raise error("WF320", expected=f"the attribute {name}", found="none")
    kinds = {f.name: type(getattr(_SAMPLES[name], f.name)) for f in fields(_SAMPLES[name])}
    rare = {key: getattr(_SAMPLES[name], key) for key in RARE if key in kinds}
    try:
        found = rare | {a.name: _value(a.attr) for a in ir.DictAttr(attributes[name])}
    except ValueError:  # an attribute of another kind
        found = {}
    if {k: type(v) for k, v in found.items()} != kinds:
        words = ", ".join(f"{k}: {'array' if t is tuple else t.__name__}" for k, t in kinds.items())
        raise error("WF320", expected=f"the attribute {name} of {{{words}}}", found=attributes[name])
    return found
