"""Builders of the most frequent ops of ``arith`` and ``vector``, in a third of the time of the bindings' own.

The generated builders make a view of each op, look for defaults and check segments: 4 us an op, of which a large
kernel has ten thousand. ``Operation.create`` alone takes 1.2 us.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

BINARY = (
    "addf", "addi", "andi", "divf", "divsi", "divui", "maximumf", "maxsi", "maxui", "minimumf", "minsi", "minui",
    "mulf", "muli", "ori", "remf", "remsi", "remui", "shli", "shrsi", "shrui", "subf", "subi", "xori",
)  # fmt: skip
"""Ops of two operands whose result has the type of the first one."""
CASTS = ("bitcast", "extf", "extsi", "extui", "index_cast", "sitofp", "trunci", "truncf", "uitofp")
"""Ops of one operand whose result's type is given."""


def arith_builders(generated: ModuleType, ir: Any) -> SimpleNamespace:
    """The names of the module ``generated`` of the bindings, with quick builders for the ops above and a few others.

    A call with keywords, such as ``fastmath``, goes to the generated builder.
    """
    create = ir.Operation.create

    def binary(name: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        def build(a: Any, b: Any, **how: Any) -> Any:
            return otherwise(a, b, **how) if how else create(name, [a.type], [a, b]).result

        return build

    def cast(name: str) -> Callable[..., Any]:
        return lambda t, x: create(name, [t], [x]).result

    def comparison(name: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        def build(predicate: int, a: Any, b: Any) -> Any:
            t = a.type
            if isinstance(t, ir.RankedTensorType):
                return otherwise(predicate, a, b)
            i1, i64 = ir.IntegerType.get_signless(1), ir.IntegerType.get_signless(64)
            truth = ir.VectorType.get(t.shape, i1) if isinstance(t, ir.VectorType) else i1
            return create(name, [truth], [a, b], {"predicate": ir.IntegerAttr.get(i64, int(predicate))}).result

        return build

    def constant(t: Any, value: Any) -> Any:
        if not isinstance(value, ir.Attribute):
            return generated.constant(t, value)
        return create("arith.constant", [t], [], {"value": value}).result

    def select(condition: Any, a: Any, b: Any) -> Any:
        return create("arith.select", [a.type], [condition, a, b]).result

    def negf(x: Any, **how: Any) -> Any:
        return generated.negf(x, **how) if how else create("arith.negf", [x.type], [x]).result

    quick: dict[str, Any] = {name: binary(f"arith.{name}", getattr(generated, name)) for name in BINARY}
    quick |= {name: cast(f"arith.{name}") for name in CASTS}
    quick |= {name: comparison(f"arith.{name}", getattr(generated, name)) for name in ("cmpf", "cmpi")}
    return SimpleNamespace(**vars(generated) | quick | {"constant": constant, "select": select, "negf": negf})


def vector_builders(generated: ModuleType, ir: Any) -> SimpleNamespace:
    """The names of the module ``generated`` of the bindings, with a quick builder for one element of a fragment."""
    create, at = ir.Operation.create, ir.DenseI64ArrayAttr.get

    def extract(source: Any, dynamic: Sequence[Any], position: Sequence[int]) -> Any:
        if dynamic:
            return generated.extract(source, dynamic, position)
        how = {"static_position": at(position)}
        return create("vector.extract", [source.type.element_type], [source], how).result

    return SimpleNamespace(**vars(generated) | {"extract": extract})
