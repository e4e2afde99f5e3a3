"""Runs passes in order: verifies between them, checks what each promised, keeps snapshots, leaves a reproducer."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

from ..errors import CompileError, WarpfoldError, error
from ..ir.build import before, find, find_each, found_before, replace
from ..ir.mlir import ir, passmanager


@dataclass(frozen=True)
class Pass:
    """One lowering step on a ``builtin.module``.

    Attributes:
        name: kebab name, as in ``--pass-pipeline``.
        run: mutates the module operation in place; raises WarpfoldError on bad input.
        eliminates: op names that must be gone afterwards.
        summary: what it does, in one line.
        stage: whether it lowers stage ops, and makes none but those in ``makes``: such passes follow each other.
        makes: stage ops of later passes that it makes, each with ``made``; the first pass makes all others.
    """

    name: str
    run: Callable[[Any], None]
    eliminates: tuple[str, ...]
    summary: str
    stage: bool = False
    makes: tuple[str, ...] = ()


def lowering(
    name: str,
    table: Mapping[str, Callable[[Any], Sequence[Any]]],
    summary: str,
    *,
    stage: bool = False,
    also: tuple[str, ...] = (),
) -> Pass:
    """A pass that is a table: of an op by its name, what makes the values that take the place of its results.

    A function is called where the op is. The ops ``also`` go with those of the table.
    """

    def run(module: Any) -> None:
        found = find_each(module, table) if len(table) > 1 else {op: find(module, op) for op in table}
        for op_name, values in table.items():
            for op in found[op_name]:
                with before(op):
                    replace(op, values(op))

    return Pass(name, run, (*table, *also), summary, stage)


@dataclass(frozen=True)
class Stage:
    """A snapshot: the IR after the step called ``name``."""

    name: str
    ir: str


Step = Pass | str
"""A pass of ours, or a textual pipeline of upstream passes."""


def op_names(operation: Any) -> dict[str, int]:
    """How often each op kind occurs below ``operation``."""
    counts: dict[str, int] = {}

    def visit(op: Any) -> Any:
        counts[op.name] = counts.get(op.name, 0) + 1
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    return counts


def run_pass(step: Pass, module: Any) -> None:
    """Runs one of our passes and checks its promise.

    Raises:
        CompileError: what the pass itself raises, WF319 where it fails over IR that no pass of ours makes, or WF330
            when ops it eliminates are left.
    """
    try:
        step.run(module.operation)
    except (WarpfoldError, ir.MLIRError):
        raise
    except Exception as e:
        raise error("WF319", name=step.name, reason=(str(e) or type(e).__name__).splitlines()[0]) from e
    if step.eliminates:
        counts = op_names(module.operation)
        for name in step.eliminates:
            if counts.get(name):
                raise error("WF330", name=step.name, count=counts[name], op=name)


def printed(operation: Any, **options: bool) -> str:
    """The text of ``operation``, which parses again; ``options`` are those of MLIR's ``get_asm``.

    Upstream marks a lowered kernel as a kernel twice, which its own parser refuses, so one mark is removed. Its parser
    also takes the location of a barrier for an attribute, so barriers with a location are printed in generic form.
    """

    def visit(op: Any) -> Any:
        if op.name == "llvm.func" and list(op.attributes).count(_MARK) > 1:
            del op.attributes[_MARK]
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    text = str(operation.get_asm(**options)).rstrip("\n") + "\n"
    return _LOCATED_BARRIER.sub(_generic_barrier, text) if options.get("enable_debug_info") else text


_MARK = "gpu.kernel"
_LOCATED_BARRIER = re.compile(
    r"^( *)nvvm\.barrier(?: id = (%[\w#]+))?(?: number_of_threads = (%[\w#]+))?(?= loc\()", re.MULTILINE
)


def _generic_barrier(match: re.Match[str]) -> str:
    indent, *operands = match.groups()
    given = [name for name in operands if name]
    segments = ", ".join([*(str(int(bool(name))) for name in operands), "0"])
    types = ", ".join("i32" for _ in given)
    properties = f"<{{operandSegmentSizes = array<i32: {segments}>}}>"
    return f'{indent}"nvvm.barrier"({", ".join(given)}) {properties} : ({types}) -> ()'


def run(
    steps: Sequence[tuple[str, Step]], module: Any, *, snapshots: Callable[[Any], str] | None = None
) -> list[Stage]:
    """Runs ``steps`` on ``module`` in place.

    Args:
        steps: (label, pass or textual pipeline).
        module: an ``ir.Module`` in the current context.
        snapshots: how to print the IR after every step, such as ``printed``; None keeps none.

    Returns:
        The snapshots, or nothing.

    Raises:
        CompileError: what a pass raises, WF330, or WF331 for upstream's passes and the verifier. The message (of ours
            a note below it) names the file that has the IR before the step, and the command that fails in the same way.
    """
    stages: list[Stage] = []
    for label, step in steps:
        before = module.operation.clone()  # a step that fails may have changed the module by then
        try:
            if isinstance(step, Pass):
                run_pass(step, module)
                module.operation.verify()
            else:
                passmanager.PassManager.parse(f"builtin.module({step})").run(module.operation)
        except ir.MLIRError as e:
            path, command = _reproducer(label, step, before)
            raise error("WF331", name=label, reason=str(e).strip(), path=path, command=command) from e
        except CompileError as e:
            path, command = _reproducer(label, step, before)
            e.add_note(f"  the IR before {label} is in {path}; reproduce with: {command}")
            raise
        if snapshots is not None:
            stages.append(Stage(label, snapshots(module.operation)))
    return stages


def lowered(steps: Sequence[tuple[str, Step]], module: Any) -> Any:
    """The operation that ``run`` makes of ``module``, in half the time, without checks between the steps.

    Passes whose ops are absent are skipped, verification happens once before code generation, and no step keeps its
    input. If a step fails, ``run`` repeats the lowering to report it; ``module`` is then as ``run`` leaves it.

    With ``WARPFOLD_VERIFY=1`` in the environment the IR is verified after every step, and a failure is raised even if
    ``run`` does not meet it.

    Raises:
        CompileError: as ``run``.
    """
    found, verifies = module.operation.clone(), os.environ.get("WARPFOLD_VERIFY") == "1"
    try:
        _quickly(steps, found, verifies=verifies)
    except Exception:
        run(steps, module)
        if verifies:
            raise
        return module.operation
    return found


def _quickly(steps: Sequence[tuple[str, Step]], operation: Any, *, verifies: bool) -> None:
    """Runs the steps one after another; the last one verifies, or with ``verifies`` every one."""
    absent: set[str] = set()
    for stage, group in groupby(steps, lambda labelled: isinstance(labelled[1], Pass) and labelled[1].stage):
        if stage:
            own = [p for _, p in group if isinstance(p, Pass) and not _superfluous(p, absent)]
            _lower_stages(own, operation, verifies=verifies)
            continue
        for _, step in group:
            if not isinstance(step, Pass):
                _manager(operation.context, step, verifies=verifies or step is steps[-1][1]).run(operation)
            elif not _superfluous(step, absent):
                step.run(operation)
                _ = verifies and operation.verify()
                absent = absent or _absent(steps, operation)


KEPT = 16
"""The pipelines that are kept: some for each target."""


@lru_cache(KEPT)
def _manager(context: Any, pipeline: str, *, verifies: bool) -> Any:
    """Upstream's passes, which collect their patterns when they first run in a context."""
    manager = passmanager.PassManager.parse(f"builtin.module({pipeline})", context)
    manager.enable_verifier(verifies)
    return manager


def _lower_stages(passes: Sequence[Pass], operation: Any, *, verifies: bool) -> None:
    """Runs passes that lower stage ops, which are found in one walk."""
    with found_before(operation, [name for p in passes for name in p.eliminates if name != "fold.yield"]):
        for p in passes:
            p.run(operation)
            _ = verifies and operation.verify()


def _absent(steps: Sequence[tuple[str, Step]], operation: Any) -> set[str]:
    """The names of fold ops that a pass of ours eliminates, and of which there are none below ``operation``."""
    names = {name for _, step in steps if isinstance(step, Pass) for name in step.eliminates}
    found = find_each(operation, [name for name in names if name.startswith("fold.")])
    made = {name for _, step in steps if isinstance(step, Pass) for name in step.makes}
    return {name for name, own in found.items() if not own and name not in made}


def _superfluous(step: Pass, absent: set[str]) -> bool:
    """Whether a pass lowers only fold ops, and none are present."""
    return bool(step.eliminates) and absent.issuperset(step.eliminates)


def _reproducer(label: str, step: Step, operation: Any) -> tuple[str, str]:
    """Saves the IR that a step was given; its path, and the command that fails in the same way."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", suffix=".mlir", prefix=f"warpfold-{label}-", delete=False
        ) as f:
            f.write(printed(operation))
    except OSError as e:  # which must not hide what failed
        return f"no file ({e.strerror or e})", "the same call"
    text = step.name if isinstance(step, Pass) else step
    return f.name, f"warpfold-opt {f.name} --pass-pipeline='builtin.module({text})'"
