"""IR as a listing: names of values and source lines; without either it is what MLIR prints."""

from __future__ import annotations

import linecache
import re
from typing import Any

import pytest
from covering import covering

import warpfold as wf
from warpfold.compiler.driver.compile import listed, session, stages
from warpfold.compiler.driver.listing import comments
from warpfold.compiler.driver.pipeline import Stage, printed
from warpfold.compiler.ir.mlir import ir
from warpfold.compiler.target import target
from warpfold.passes import steps
from warpfold.runtime import api
from warpfold.runtime.programs.compiled import for_any_size


@wf.monoid(identity=(0.0, 1.0))
def both(a: Any, b: Any) -> Any:
    total = a[0] + b[0]
    product = a[1] * b[1]
    return total, product


def scaled(x: Any, y: Any) -> Any:
    weighed = x * y
    moved = weighed - 3.0
    total = wf.fold(wf.SUM, moved)
    return total / 7.0


LINES = {
    "both": {"arith.addf": "total = a[0] + b[0]", "arith.mulf": "product = a[1] * b[1]"},
    "scaled": {
        "arith.mulf": "weighed = x * y",
        "arith.subf": "moved = weighed - 3.0",
        "arith.divf": "return total / 7.0",
        "fold.thread_reduce": "total = wf.fold(wf.SUM, moved)",
    },
}
"""The line that each operation comes from, of the kinds that one line alone asks for."""
PLANS = ("", "warps=2", "finish=two_kernels", "fast=kept,lanes=1,warps=1,warps_kept=4")


def of(
    what: Any, plan: str = "", *, shape: tuple[int, ...] = (512, 512), axis: Any = 1, names: bool = False,
    locations: bool = False,
) -> list[Stage]:  # fmt: skip
    """The stages of a reduction of two arrays."""
    ready = for_any_size(api.plan_for(what, shape, ("f32", "f32"), axis=axis, plan=plan), plan)
    choice, target = ready.choice, ready.target
    beside = comments if locations else None
    return listed(ready.program, choice.facts, choice.plan, target, steps(target), names=names, beside=beside)


def without_comments(text: str) -> str:
    return re.sub(r"(?m)  // .*\.py:\d+.*$", "", text)


@covering(("plan", PLANS), ("what", [both, scaled], ["both", "scaled"]))
def test_locations_are_only_comments_beside_the_ir(what: Any, plan: str) -> None:
    (kernels,) = wf.compile(what, (512, 512), ("f32", "f32"), axis=1, plan=plan).artifact.kernels
    plain = stages(kernels.source, steps(target(kernels.arch)))
    found = of(what, plan, locations=True)
    assert [s.name for s in found] == [s.name for s in plain]
    for stage, as_ever in list(zip(found, plain, strict=True))[:-1]:  # PTX has the lines of its source
        assert stage.ir != as_ever.ir
        assert without_comments(stage.ir) == as_ever.ir


@pytest.mark.parametrize("plan", PLANS[:2])
@pytest.mark.parametrize("what", [both, scaled], ids=["both", "scaled"])
def test_each_operation_is_beside_its_own_line(what: Any, plan: str) -> None:
    distributed = next(s.ir for s in of(what, plan, locations=True) if s.name == "distribute")
    for op, text in LINES[what.name if what is both else what.__name__].items():
        if op == "fold.thread_reduce":
            beside = re.findall(r"\}\) \{step = .*  // (.*):(\d+): (.*)", distributed)
        else:
            beside = re.findall(rf"= {op} .*  // (.*):(\d+): (.*)", distributed)
        assert beside, op
        for file, number, line in beside:
            assert (file, line) == (__file__, text)
            assert linecache.getline(file, int(number)).strip() == text


def test_ops_of_no_node_have_the_kernels_location_without_its_text() -> None:
    distributed = next(s.ir for s in of(scaled, locations=True) if s.name == "distribute")
    line = scaled.__code__.co_firstlineno
    assert re.search(rf"gpu.thread_id x  // {re.escape(__file__)}:{line}$", distributed, re.MULTILINE)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((512, 512), 1), ((4096, 3), 0), ((99999, 3), 1), ((63, 5, 65), (0, 2)), ((2**22,), None)],
    ids=str,
)
def test_every_stage_parses_with_names_and_locations(shape: tuple[int, ...], axis: Any) -> None:
    for stage in of(scaled, shape=shape, axis=axis, names=True, locations=True):
        with session():
            again = printed(ir.Module.parse(stage.ir).operation)
            assert again == printed(ir.Module.parse(again).operation)


def test_values_have_descriptive_names() -> None:
    found = {s.name: s.ir for s in of(scaled, "warps=2", names=True)}
    assert "@scaled(%input0: tensor" in found["program"]
    assert "(%a: f32, %b: f32):" in found["program"]
    header = re.search(r"gpu\.func @scaled\((.*?)\) kernel", found["distribute"])
    assert header is not None
    arguments = re.findall(r"%(\w+):", header[1])
    kernel = wf.compile(scaled, (512, 512), ("f32", "f32"), axis=1, plan="warps=2")
    assert arguments == [p.name for p in kernel.artifact.kernels[0].main.params]
    thread = {
        "thread",
        "in_warp",
        "warp",
        "lane",
        "position",
        "slot",
        "tile",
        "kept",
        "in_range",
        "owner",
        "begin",
        "end",
    }
    assert thread <= set(re.findall(r"%(\w+) =", found["distribute"]))
    assert re.search(r'"fold.thread_reduce"\(%begin, %end, .*\n *\^bb0\(%r: i32\)', found["distribute"])
    assert re.search(r"llvm\.func @scaled\(%input0: .*%n_kept: i32", found["to-nvvm"])


@pytest.mark.parametrize("plan", PLANS)
def test_constants_are_named_after_their_value(plan: str) -> None:
    """Equal constants are merged, so a name would describe only one of their uses."""
    for stage in of(both, plan, names=True)[:-1]:
        constants = re.findall(r"%(\w+) = arith\.constant", stage.ir)
        assert [c for c in constants if not re.match(r"c-?\d|cst|true|false", c)] == [], stage.name


def test_without_names_and_locations_the_text_is_the_plain_ir() -> None:
    kernel = wf.compile(both, (512, 512), ("f32", "f32"), axis=1)
    assert [s.ir for s in of(both)[:-1]] == [s.ir for s in kernel.stages[:-1]]
