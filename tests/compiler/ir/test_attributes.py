"""Plan and facts as attributes: an error names every field that is missing, misspelt or invalid."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from warpfold.compiler.errors import CompileError
from warpfold.compiler.ir import attributes
from warpfold.compiler.ir.dialect import load
from warpfold.compiler.ir.mlir import ir
from warpfold.compiler.plan.facts import RARE, Facts
from warpfold.compiler.plan.fields import LARGEST, expected_of, fits
from warpfold.compiler.plan.plan import Plan

FACTS = Facts(1, 1, 32, ("strided",), store_vector=False)
VALUES: dict[str, Any] = {attributes.PLAN: Plan(), attributes.FACTS: FACTS}
FIELDS = [(name, f.name) for name, value in VALUES.items() for f in fields(value)]
NEEDED = [(name, key) for name, key in FIELDS if key not in RARE]


def text(changes: dict[tuple[str, str], str | None], misspelt: str = "") -> str:
    """A function with plan and facts, in which some fields are replaced or left out."""

    def of(v: Any) -> str:
        if isinstance(v, tuple):
            return f"[{', '.join(map(of, v))}]"
        return str(v).lower() if isinstance(v, bool) else str(v) if isinstance(v, int) else f'"{v}"'

    parts = []
    for name, value in VALUES.items():
        found = {f.name: changes.get((name, f.name), of(getattr(value, f.name))) for f in fields(value)}
        made = [f"{key}{'x' * (key == misspelt)} = {v}" for key, v in found.items() if v is not None]
        parts.append(f"{name} = {{{', '.join(made)}}}")
    return f"func.func @f(%x: tensor<?x?xf32>) attributes {{{', '.join(parts)}}} {{ return }}"


def read(source: str) -> tuple[Plan, Facts]:
    with ir.Context() as context, ir.Location.unknown():
        load(context)
        module = ir.Module.parse(source)
        return attributes.read(module.body.operations[0].operation)


def refusal(source: str) -> str:
    with pytest.raises(CompileError) as caught:
        read(source)
    assert caught.value.location is not None
    return str(caught.value)


def test_attributes_survive_a_round_trip() -> None:
    assert read(text({})) == (Plan(), FACTS)


def test_a_missing_field_is_named() -> None:
    for name, key in NEEDED:
        assert refusal(text({(name, key): None})).startswith(f"WF322: {name} of @f expects {key} = ")


def test_a_misspelt_field_is_named_with_a_suggestion() -> None:
    for name, key in FIELDS:
        assert refusal(text({}, key)).startswith(f"WF323: {name} of @f has no field {key}x (did you mean {key}")


def test_a_field_of_another_type_is_named() -> None:
    for name, key in FIELDS:
        for value in ("1.5", "unit", "[[1.5]]", "array<i64: 1>", "{}"):
            found = refusal(text({(name, key): value}))
            assert found.startswith(f"WF322: {name} of @f expects {key} = ")


@pytest.mark.parametrize("key", LARGEST)
@pytest.mark.parametrize("value", [-1, 3, 33, 1 << 40, -(1 << 63), (1 << 63) - 1])
def test_an_extent_out_of_bounds_is_named(key: str, value: int) -> None:
    if key in ("warps", "warps_kept") and value == 3:  # some plans have any number of warps
        assert fits(key, value)
        return
    found = refusal(text({(attributes.PLAN, key): str(value)}))
    assert f"expects {key} = {expected_of(key)}, got {value}" in found
    assert f"a power of two from 1 to {LARGEST[key]}" in found


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("kept_rank", "-1", "kept_rank = a number of dims from 0 to 64, got -1"),
        ("reduced_rank", "65", "reduced_rank = a number of dims from 0 to 64, got 65"),
        ("index_bits", "16", "index_bits = one of 32 64, got 16"),
        ("access", '["wide"]', "access = an array of one of aligned shifted"),
        ("access", '["aligned", "aligned"]', "access = an access for each of 1 tensor(s), got 2 of them"),
        ("waiting", "[-1]", "waiting = an array of numbers of inputs, got [-1]"),
        ("block", "[0, 1]", "block = an array of two positive integers, or none, got [0, 1]"),
        ("numbers", '"sideways"', 'numbers = one of "" up down, got "sideways"'),
        ("numberings", '["across"]', 'numberings = an array of one of none kept reduced both, got ["across"]'),
        ("ragged", "1", "ragged = true or false, got 1"),
    ],
)
def test_facts_out_of_bounds_are_named(key: str, value: str, says: str) -> None:
    assert says in refusal(text({(attributes.FACTS, key): value}))


def test_a_target_that_is_no_name() -> None:
    source = "gpu.module @m attributes {fold.target = 3 : i64} { gpu.func @k() kernel { gpu.return } }"
    with ir.Context() as context, ir.Location.unknown():
        load(context)
        module = ir.Module.parse(source)
        with pytest.raises(CompileError, match=r"WF322: the attributes of @m expects fold.target = a name"):
            attributes.target_of(module.body.operations[0].operation)
