"""Runs OP or FILE.ptx on the emulator under a tool, for ``sanitize``, ``profile`` and ``run FILE.ptx``.

``watch(work, tool)`` makes the arrays, runs all launches under the tool, and returns the arrays by name. An OP runs on
a new backend, so its scratch memory is uninitialised: ``Allocation.initialised`` is false for ``partials`` and
``result 0``, true for ``input 0`` and ``counters``. An array of FILE.ptx has the name that the launch gives it, else
the name of its file or ``argument 0``; with ``=uninit`` it is uninitialised. All launches share their memory.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

import numpy as np

from ..compiler import files
from ..compiler.dtypes import dtype
from ..compiler.errors import error
from ..runtime.prepare import Prepared
from ..runtime.programs.plans import PreparedProgram
from . import results, run, terminal
from .outcome import Outcome
from .programs import run as programs
from .requests import inputs, launch_arguments, launch_syntax
from .requests.choose import AnyRequest
from .requests.program_request import ProgramRequest
from .requests.request import Array

if TYPE_CHECKING:
    from ..runtime.emulator import Tool


@dataclass
class Work:
    """What runs under a tool, as given on the command line.

    Attributes:
        request: OP and the options of ``of_what``; its ``op`` may be the path of a ``.ptx`` file.
        launches: the texts of ``--launch`` in order, for a ``.ptx`` file.
        max_steps: the budget of each launch; None for the default of the emulator.
        schedule: the seed of the schedule; None for lockstep.
    """

    request: AnyRequest
    launches: tuple[str, ...] = ()
    max_steps: int | None = None
    schedule: int | None = None

    def __post_init__(self) -> None:
        r = self.request
        if isinstance(r, ProgramRequest) or not self.is_ptx:
            if self.launches:
                remedy = "write FILE.ptx in place of OP, or leave --launch out"
                raise error("WF827", problem=f"--launch is for a program, and {r.op} is none", remedy=remedy)
            return
        given = {"--input": r.files, "--shape": r.shape, "--dtype": r.dtype, "--axis": r.axis_text, "--plan": r.plan,
                 "--param": r.param_texts}  # fmt: skip
        for option, value in given.items():
            if value:
                problem = f"{r.op} is a program, and takes no {option}"
                raise error("WF827", problem=problem, remedy="say it in --launch: kernel<<<...>>>(f32[1024])")
        if not self.launches:
            files.read(r.op, "WF506")  # no launch helps where there is no file
            remedy = "add --launch 'kernel<<<grid, block>>>(arguments)', as often as kernels shall run"
            raise error("WF827", problem=f"{r.op} is a program, and no --launch says how to run it", remedy=remedy)

    @property
    def is_ptx(self) -> bool:
        """Whether a PTX file runs, rather than an operation."""
        return self.request.op.endswith(".ptx")


@dataclass
class Watched:
    """A finished run.

    Attributes:
        title: the run in words.
        elements: size of the largest array of an OP or of a FILE.ptx.
        nbytes: bytes of an OP's inputs and results; None for a FILE.ptx, whose arrays may be either.
        arrays: the arrays by name after all launches; ``named`` are those that a launch names.
        outcome: the run of an OP, with its plan, or with those of a program; None for a FILE.ptx.
    """

    title: str
    elements: int
    nbytes: int | None
    arrays: dict[str, Array] = field(default_factory=dict)
    named: tuple[str, ...] = ()
    outcome: Outcome[Prepared] | Outcome[PreparedProgram] | None = None

    @property
    def prepared(self) -> Prepared | PreparedProgram | None:
        """What was prepared for an OP."""
        return None if self.outcome is None else self.outcome.prepared


def watch(work: Work, tool: Tool | None, *, json: bool = False) -> Watched:
    """Runs all launches under ``tool``.

    Output of kernels goes to standard output, or to standard error with ``json``.

    Raises:
        WarpfoldError: the request is wrong (WF8xx, WF5xx, WF70x), or a kernel fails (WF71x, WF72x).
    """
    return _program(work, tool, sys.stderr if json else None) if work.is_ptx else _operation(work, tool)


def show(work: Work, *, device: str, output: str | None, json: bool) -> None:
    """Runs the launches of a FILE.ptx, prints the arrays afterwards, and writes the one that ``output`` names.

    Raises:
        ArgumentError: WF827 for a device other than the emulator, WF828 for an output that names no array.
    """
    if device == "cuda":
        remedy = "leave --device out: launches run on the emulator"
        raise error("WF827", problem=f"{work.request.op} is a program, and does not run on cuda", remedy=remedy)
    name, _, path = (output or "").partition("=")
    target = results.ResultFile(path) if path else None
    watched = watch(work, None, json=json)
    if output is not None and (target is None or name not in watched.named):
        raise error("WF828", text=output, known=" ".join(watched.named) or "none, since no array has a name")
    if target is not None:
        target.save(name, [""], [watched.arrays[name]])
    if json:
        facts = {"title": watched.title, "arrays": [_plain(n, x) for n, x in watched.arrays.items()]}
        terminal.show(terminal.as_json(facts))
        return
    lines: list[tuple[str, object]] = [("run", work.request.op), *(("launch", text) for text in work.launches)]
    for key, x in watched.arrays.items():
        lines.append((key, f"{dtype(x.dtype).name}{list(x.shape)}"))
        lines.append(("", np.array2string(x, threshold=results.SMALL, edgeitems=3, max_line_width=100)))
    terminal.facts([*lines, *([("written", path)] if target is not None else [])])


def _plain(name: str, x: Array) -> dict[str, object]:
    """An array as plain values, for JSON; with its elements only if it is small."""
    own = results.value_facts(x, f"{name}=FILE.npy")
    return {"name": name, "dtype": dtype(x.dtype).name, "shape": list(x.shape), **own}


def _operation(work: Work, tool: Tool | None) -> Watched:
    """Runs a reduction or a program on arrays that lie as on a GPU."""
    from ..runtime.backends.emulator_backend import EmulatorBackend

    request, backend = work.request, EmulatorBackend()
    backend.tool, backend.max_steps, backend.seed = tool, work.max_steps, work.schedule
    outcome: Outcome[Prepared] | Outcome[PreparedProgram]
    xs = request.arrays
    if isinstance(request, ProgramRequest):
        outcome = programs.on_backend(request, backend)
    else:
        xs = [inputs.aligned(x) for x in request.arrays]
        arrays = request.operands(xs, "emulator")
        arrays.backend = backend
        program = request.program(arrays)
        sizes = program.sizes_of([v.shape for v in arrays.parts])
        out = tuple(inputs.empty(o.shape(sizes), t.numpy) for o, t in program.results)  # as on a GPU, in C order
        outcome = run.perform(request, arrays, keepdims=False, out=out[: len(out) - len(program.checks)])
    named = {f"input {i}": x for i, x in enumerate(xs)} | {f"result {i}": r for i, r in enumerate(outcome.results)}
    nbytes = sum(x.nbytes for x in named.values())
    return Watched(request.title(), max(x.size for x in xs), nbytes, named, outcome=outcome)


def _program(work: Work, tool: Tool | None, out: TextIO | None) -> Watched:
    from ..runtime.emulator import Memory, launch, parse

    launches = [launch_syntax.read(text) for text in work.launches]
    module = parse(_text(work.request.op))
    arena = launch_arguments.Arena(Memory(), np.random.default_rng(work.request.seed))
    calls = [launch_arguments.call(work.request.op, module, one, arena) for one in launches]
    for one, (kernel, values) in zip(launches, calls, strict=True):
        launch(
            module, kernel, one.grid, one.block, values, arena.memory,
            shared_bytes=one.shared, cluster=one.cluster, max_steps=work.max_steps, tool=tool, seed=work.schedule,
            out=out,
        )  # fmt: skip
    title = "; ".join([work.request.op, *(one.text for one in launches)])
    most = max((x.size for x in arena.arrays.values()), default=0)
    return Watched(title, most, None, arena.arrays, tuple(arena.named))


def _text(path: str) -> str:
    """Reads a PTX file."""
    try:
        return files.read_text(path, "WF506")
    except UnicodeDecodeError as e:
        raise error("WF826", path=path, reason="it is no text in UTF-8") from e
