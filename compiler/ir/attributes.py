"""Plan and facts as attributes of the tensor program's function: ``emit`` writes them, ``distribute`` reads them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

from ..errors import WarpfoldError, error, near
from ..plan.abi import Kernel
from ..plan.facts import NUMBERS, RARE, Facts
from ..plan.fields import Access, expected_of, fits
from ..plan.plan import Plan
from ..target import DEFAULT, Target, target
from .locations import place_of
from .mlir import ir

PLAN, FACTS, TARGET = "fold.plan", "fold.facts", "fold.target"
_SAMPLES: dict[str, Plan | Facts] = {PLAN: Plan(), FACTS: Facts(0, 0, 32, (), store_vector=False, ragged=False)}
"""A value of each class, for the types of its fields."""
_PLANNED = tuple(f.name for f in fields(Plan))
_RANKS = ("kept_rank", "reduced_rank")
MOST_DIMS = 64
"""Dims of either kind, at most: NumPy's arrays have no more."""
_CHOICES: dict[str, tuple[object, ...]] = {
    "access": get_args(Access), "index_bits": (32, 64), "numbers": ("", "up", "down"), "stores": get_args(Access),
    "numberings": ("none", "kept", "reduced", "both"),
}  # fmt: skip
"""What else than truth values the facts may be."""
_SEVERAL = ("access", "stores", "numberings")


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
        CompileError: WF320 when an attribute is missing or no dictionary, WF322 for a field that is missing or cannot
            be what it is, WF323 for one that there is not.
    """
    plan, facts = _fields(function, PLAN), _fields(function, FACTS)
    inputs = len(function.regions[0].blocks[0].arguments)
    if len(facts["access"]) != inputs:
        expected = f"an access for each of {inputs} tensor(s)"
        raise _refused(function, FACTS, "access", expected, f"{len(facts['access'])} of them")
    return Plan(**plan), Facts(**facts)


def target_of(op: Any) -> Target:
    """The target that a function or a gpu.module is compiled for; without one, the default.

    Raises:
        CompileError: WF322 when the attribute is no name.
    """
    if TARGET not in op.attributes:
        return DEFAULT
    found = op.attributes[TARGET]
    if not isinstance(found, ir.StringAttr):
        raise _refused(op, "the attributes", TARGET, 'a name as "sm_90a"', found)
    return target(found.value)


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


def _fields(function: Any, name: str) -> dict[str, Any]:
    """The fields of a dictionary attribute, which must have the names, types and bounds of its class."""
    attributes, sample = function.attributes, _SAMPLES[name]
    found = attributes[name] if name in attributes else None  # noqa: SIM401 - MLIR's attributes have no get
    if not isinstance(found, ir.DictAttr):
        expected, text = f"the attribute {name}, a dictionary", "none" if found is None else str(found)
        raise error("WF320", expected=expected, found=text, where=place_of(function))
    given = {a.name: a.attr for a in found}
    known = {f.name: getattr(sample, f.name) for f in fields(sample)}
    for key in given.keys() - known.keys():
        said = {"attribute": name, "function": _name(function), "field": key, "near": near(key, known)}
        raise error("WF323", **said, known=" ".join(known), where=place_of(function))
    made = {}
    for key, value in known.items():
        if key not in given and key in RARE:
            made[key] = value
            continue
        made[key] = _read(given[key]) if key in given else None
        if not _fits(key, made[key], value):
            raise _refused(function, name, key, _expected(key, value), given.get(key, "none"))
    return made


def _read(attribute: Any) -> Any:
    """The Python value of an attribute; None for a kind that ``_attribute`` does not make."""
    try:
        return _value(attribute)
    except ValueError:
        return None


def _fits(key: str, value: Any, sample: Any) -> Any:
    """Whether a field, of the type that ``sample`` has, may have this value."""
    if not isinstance(value, type(sample)) or isinstance(value, bool) != isinstance(sample, bool):
        return False
    if key in _PLANNED:
        return fits(key, value)
    if key in _RANKS:
        return 0 <= value <= MOST_DIMS
    if key == "block":
        return len(value) in (0, 2) and all(type(v) is int and v > 0 for v in value)
    if key in NUMBERS:
        return all(type(v) is int and v >= 0 for v in value)
    each = value if key in _SEVERAL else [value]
    return key not in _CHOICES or all(v in _CHOICES[key] for v in each)


def _expected(key: str, sample: Any) -> str:
    """What a field may be, in words."""
    if key in _PLANNED:
        return expected_of(key)
    if key in _RANKS:
        return f"a number of dims from 0 to {MOST_DIMS}"
    if key == "block":
        return "an array of two positive integers, or none"
    if key in NUMBERS:
        return f"an array of numbers of {'operands' if key == 'runs' else 'inputs'}"
    if key in _CHOICES:
        return "an array of " * (key in _SEVERAL) + "one of " + " ".join(str(c) or '""' for c in _CHOICES[key])
    return "true or false" if isinstance(sample, bool) else f"a {type(sample).__name__}"


def _refused(op: Any, attribute: str, field: str, expected: str, found: object) -> WarpfoldError:
    """WF322, with the op's name and place."""
    where = place_of(op)
    return error(
        "WF322", attribute=attribute, function=_name(op), field=field, expected=expected, found=found, where=where
    )


def _name(op: Any) -> str:
    return str(ir.StringAttr(op.attributes["sym_name"]).value) if "sym_name" in op.attributes else "?"
