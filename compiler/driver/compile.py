"""The driver: from a program, its facts and its plan to an artifact; the one place that runs the whole lowering."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from .. import exclusive
from ..errors import error
from ..ir.dialect import load
from ..ir.emit import emit
from ..ir.mlir import BINDINGS_NAME, BINDINGS_VERSION, gpu, ir
from ..ir.source_lines import Lines, numbered, with_numbers
from ..plan.facts import Facts
from ..plan.kernels import kernels
from ..plan.plan import Plan
from ..program.graph import Program
from ..target import Target
from .artifact import Artifact, without_code
from .listing import Listing
from .pipeline import Stage, Step, lowered, printed, run

_context: list[Any] = []


@contextmanager
def session() -> Any:
    """The one MLIR context of this process, current inside the ``with``, which one thread at a time is in."""
    with exclusive.lock:
        if not _context:
            _context.append(ir.Context())
        load(_context[0])
        with _context[0], ir.Location.unknown():
            yield


def compile_program(
    program: Program, facts: Facts, plan: Plan, target: Target, steps: Sequence[tuple[str, Step]], key: str = ""
) -> Artifact:
    """Compiles ``program`` for these facts and this plan.

    Args:
        program: what to compute.
        facts: the facts about the geometry.
        plan: the plan to compile for.
        target: the architecture.
        steps: the lowering, ``passes.steps(target)``.
        key: the cache key to store with it.

    Raises:
        CompileError: WF3xx.
    """
    found = kernels(program, facts, plan)
    with session():
        module = emit([k for _, k in found], target)
        source = str(module)
        ptx = _ptx(lowered(steps, module))
    provenance = {"bindings": f"{BINDINGS_NAME} {BINDINGS_VERSION}", "target": target.arch}
    return replace(without_code(program, facts, plan, target, key), ptx=ptx, source=source, provenance=provenance)


def stages(source: str, steps: Sequence[tuple[str, Step]]) -> list[Stage]:
    """The IR after every step of lowering the tensor program ``source``, the program itself first.

    Raises:
        FileError: WF514 for a file's program that does not parse.
    """
    with session():
        try:
            module = ir.Module.parse(source)
        except ir.MLIRError as e:
            raise error("WF514", reason=str(e).strip()) from e
        return [Stage("program", source), *run(steps, module, snapshots=printed)]


def ptx_of(source: str, steps: Sequence[tuple[str, Step]]) -> str:
    """The PTX of a module in the fold dialect, a tensor program or a kernel of stage ops.

    Raises:
        CompileError: WF3xx, what a pass refuses.
    """
    with session():
        return _ptx(lowered(steps, ir.Module.parse(source)))


def listed(
    program: Program,
    facts: Facts,
    plan: Plan,
    target: Target,
    steps: Sequence[tuple[str, Step]],
    *,
    names: bool,
    beside: Callable[[list[Lines]], Sequence[str]] | None,
) -> list[Stage]:
    """The IR after every step of lowering a program, printed with names and source lines.

    Args:
        program: what to compute.
        facts: the facts about the geometry.
        plan: the plan to compile for.
        target: the architecture.
        steps: the lowering, ``passes.steps(target)``.
        names: whether values have names: ``%lane`` and not ``%3``.
        beside: what stands beside operations, by number, such as ``comments``: the user's line; None leaves it out.
    """
    found = [k for _, k in kernels(program, facts, plan)]
    show = Listing(names, beside(numbered(found)) if beside else ())
    with session():
        module = emit(found, target)
        return [Stage("program", show(module.operation)), *run(steps, module, snapshots=show)]


def _ptx(module: Any) -> str:
    """The PTX text that the last step left in the module operation's gpu.binary.

    Raises:
        CompileError: WF332 when it calls a library function that nothing links.
    """
    binary = next(o for o in module.regions[0].blocks[0].operations if o.operation.name == "gpu.binary")
    objects = ir.ArrayAttr(binary.operation.attributes["objects"])
    text = gpu.ObjectAttr(objects[0]).object.decode().rstrip("\0")
    return check_linked(with_numbers(str(text)))


def check_linked(ptx: str) -> str:
    """``ptx``, in which no math function may be left that only NVIDIA's device library defines; WF332 otherwise."""
    found = re.search(r"\b__nv_\w+", ptx) if "__nv_" in ptx else None  # the search alone takes milliseconds
    if found:
        raise error("WF332", name=found[0])
    return ptx
