"""One call of a program of arrays: its operands, the results in the caller's library, and the launches of its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING, Any

from ...compiler.driver.artifact import Artifact
from ...compiler.dtypes import BIT, I32, U32, DType
from ...compiler.errors import error
from ...compiler.plan.fields import Determinism
from ...compiler.plan.ladder import expand
from ...compiler.postorder import postorder
from ...compiler.program.array_layouts import Output
from ...compiler.program.array_layouts import View as ProgramView
from ...compiler.program.array_program import ArrayProgram
from ...compiler.program.bit_arrays import has_gaps
from ...compiler.program.cuts.steps import Operand, Step
from ...compiler.program.graph import REDUCED, walk
from ...compiler.program.tracing import Structure, nest
from ...compiler.space.geometry import memory_order
from ..arrays import conversion
from ..arrays.overlap import share
from ..backends.kernel_calls import ALIGN, Call, Scratch, Start, Workspace, calls, scratch
from ..backends.select import backend_for
from ..calls import recall
from ..calls.operands import Operands
from ..prepare import artifact
from ..view import ArraySpec, View, contiguous, real_parts
from .machine import Machine
from .plans import PreparedProgram, PreparedStep, prepare_program

if TYPE_CHECKING:
    from ..backends.launch_buffers import PackedLaunch


def operands_of(arrays: Sequence[object], device: str, *, numbers: bool = False) -> Operands:
    """The arrays of a call as views, with the backend and the stream that serve them.

    A number of a host array (rank 0) may stand beside arrays of a device. Launches have its value if ``numbers`` says
    so.

    Raises:
        ArgumentError: WF107 for arrays on several devices, WF121 and WF122 for ``device``.
    """
    views = tuple(conversion.view(x) for x in arrays)
    own = frozenset(i for i, v in enumerate(views) if not v.shape and v.device.kind == "cpu")
    conversion.common_device([v for i, v in enumerate(views) if i not in own] or views)
    backend = backend_for(views, device)
    first = next((x for x, v in zip(arrays, views, strict=True) if v.device.kind == "cuda"), arrays[0])
    passed = frozenset(i for i in own if numbers and views[i].dtype.kind != "complex")
    return Operands(first, views, backend, conversion.stream_of(first), numbers=passed)


def allocate(operands: Operands, program: ArrayProgram, out: Any = None, order: tuple[int, ...] | None = None) -> None:
    """Makes the results of a call, or checks ``out``, in which None stands for a new array.

    Those of the program's checks are always new.

    A new array has the memory ``order`` that is given, outermost first, or that of ``result_kinds``.

    Raises:
        ArgumentError: WF125 for a wrong number of arrays, WF108 to WF113 for one that does not fit, WF132 where they
            share memory, WF186 for one that shares memory with an input whose elements other results need.
    """
    results, kinds = program.results, result_kinds(program, operands.parts)
    given = () if out is None else out if isinstance(out, tuple | list) else (out,)
    if out is not None and len(given) != len(results) - len(program.checks):
        raise error("WF125", expected=len(results) - len(program.checks), found=len(given))
    made: list[tuple[View, Callable[[], Any]]] = []
    for x, (shape, usual), (o, t) in zip_longest(given, kinds, results):
        own = stored(o, t, operands.first)
        if x is None:
            made.append(conversion.allocate(operands.first, shape, own, usual if order is None else order))
        else:
            made.append((_checked(x, shape, o, own, operands), partial(_itself, x)))
    conversion.check_apart([v for (v, _), x in zip(made, given, strict=False) if x is not None])
    operands.outputs = tuple(v for v, _ in made)
    operands.results = [finish for _, finish in made]


def _itself(x: object) -> object:
    """An array that the caller passed for a result."""
    return x


def result_kinds(
    program: ArrayProgram, inputs: Sequence[View] | Sequence[ArraySpec]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """For each result its shape, and its axes in the order in which a new array has them in memory.

    That is the order of the first input of its shape, else the one in which the inputs have its dims, and C order where
    all inputs lie so. Words of bits lie in C order, since those of a row follow each other.
    """
    sizes = program.sizes_of([v.shape for v in inputs])
    found: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    places: list[int] | None = None
    for o, _ in program.results:
        shape = o.shape(sizes)
        if o.dtype == BIT:
            found.append((shape, tuple(range(len(shape)))))
            continue
        like = next((v for v in inputs if v.shape == shape), None)
        if like:
            found.append((shape, memory_order(shape, [like.strides])))
            continue
        if places is None:
            along = _strides(program, inputs)
            order = memory_order(sizes, along) if along else ()
            places = [order.index(d) for d in range(len(order))]
        found.append((shape, _by_places(o.last_dims, places) if places else tuple(range(len(shape)))))
    return found


def _by_places(dims: Sequence[int | None], places: Sequence[int]) -> tuple[int, ...]:
    """The axes that these dims are, outermost first, by the places of dims; an axis of size 1 stays beside the next.

    Reduced dims have places, too, as in NumPy.
    """
    own, after = [], len(places)
    for d in reversed(dims):
        own.append(after := after if d is None else places[d])
    own.reverse()
    return tuple(sorted(range(len(own)), key=own.__getitem__))


def _strides(program: ArrayProgram, inputs: Sequence[View] | Sequence[ArraySpec]) -> list[list[int]]:
    """The strides of each view along all dims; none where all arrays lie in C order."""
    if all(v.strides == contiguous(v.shape) for v in inputs):
        return []
    layouts = program.layouts([v.shape for v in inputs], [v.strides for v in inputs])
    found = []
    for view in program.views:
        strides, layout = [0] * len(program.dims), layouts[view.array]
        assert layout is not None
        for d, stride in zip(view.axes, layout.strides, strict=True):
            if d is not None:
                strides[d] += stride
        found.append(strides)
    return found


def _checked(out: object, shape: tuple[int, ...], output: Output, own: DType, operands: Operands) -> View:
    """The view of an array for a result; that it may share memory with an input is checked once the steps are known."""
    own = I32 if own == U32 and output.dtype == BIT and conversion.view(out).dtype == I32 else own
    v = conversion.check_out(out, shape, own, ())
    if output.dtype == BIT and has_gaps(v.shape, v.strides):
        raise error("WF192", what="out", stride=v.strides[-1])
    if v.device != operands.inputs[0].device:
        raise error("WF112", found=v.device, expected=operands.inputs[0].device)
    return v


def stored(output: Output, t: DType, like: object) -> DType:
    """The element type of a new array for a result of type ``t``: words of bits are i32 where a library has no u32."""
    return I32 if output.dtype == BIT and not conversion.has_type(like, U32) else t


def check_overlaps(operands: Operands, prepared: PreparedProgram) -> frozenset[tuple[int, int]]:
    """The (result, input) pairs that are the same elements in memory, once it is clear that this does no harm.

    Raises:
        ArgumentError: WF186 where a result shares memory with an input, but not so.
    """
    found = set()
    firsts = [
        list(accumulate((len(real_parts(v)) for v in own), initial=0)) for own in (operands.outputs, operands.inputs)
    ]
    for o, result in enumerate(operands.outputs):
        for i, v in enumerate(operands.inputs):
            if i in operands.numbers or not share(result, v):
                continue
            if not (_are_same(result, v) and _in_place(prepared, firsts[0][o], firsts[1][i])):
                raise error("WF186", result="out", other=f"input {i}", reason=_why_not(result, v))
            found.add((o, i))
    return frozenset(found)


def _are_same(v: View, w: View) -> bool:
    """Whether two views have the same elements at the same indices."""
    strides = zip(v.shape, v.strides, w.strides, strict=False)
    same = (v.address, v.shape, v.dtype.itemsize) == (w.address, w.shape, w.dtype.itemsize)
    return same and all(s == t for n, s, t in strides if n > 1)


def _in_place(prepared: PreparedProgram, output: int, array: int) -> bool:
    """Whether each element of a result is written by the thread that reads this element of an input, and then.

    The step that writes the result reads the input along the same dims, and has it read before it writes; no later one
    reads it.
    """
    program = prepared.program
    views = {Operand("view", i) for i, v in enumerate(program.views) if program.argument(v.array) == array}
    place = next(k for k, s in enumerate(prepared.steps) if Operand("output", output) in s.step.outputs)
    step, plan = prepared.steps[place].step, prepared.steps[place].prepared.choice.plan
    if plan.overlap or any(views.intersection(later.step.inputs) for later in prepared.steps[place + 1 :]):
        return False
    whole = ProgramView(array, program.outputs[output].axes)
    first = _read_first(step) if plan.resident in ROW_BY_ROW and step.program.reduces else frozenset()
    read = [
        o for i, o in enumerate(step.inputs)
        if o in views and not (i in first and _is_of_row(program.views[o.number], whole, step))
    ]  # fmt: skip
    if not read:
        return True
    alike = all(program.views[o.number] == whole for o in read)
    return alike and _reads_before(step, Operand("output", output), {step.inputs.index(o) for o in read})


ROW_BY_ROW = ("registers", "shared", "memory")
"""Where rows wait whose threads write no element before all phases have ended."""


def _read_first(step: Step) -> frozenset[object]:
    """The inputs of which a row reads only an element that an index chooses, before its phases."""
    nodes = list(walk((*step.program.outputs, *(a for fold in step.program.reduces for a in fold.args))))
    gathers = [e for e in nodes if e.op == "gather"]
    late = {e.args[0].value for e in gathers if e.space & REDUCED or any(x.op == "reduce" for x in walk(e.args[1:]))}
    return frozenset(e.args[0].value for e in gathers) - late


def _is_of_row(view: ProgramView, whole: ProgramView, step: Step) -> bool:
    """Whether the element that an index chooses of a view lies in the row of ``whole`` that a step writes."""
    axis = view.gathered
    along = None if axis is None else whole.axes[axis]
    return along in step.reduced and view.axes == tuple(None if a == axis else d for a, d in enumerate(whole.axes))


def _reads_before(step: Step, output: Operand, inputs: set[int]) -> bool:
    """Whether a step writes an output for each element, and has read some of its inputs there before.

    A thread makes all results of an element before it writes one. That keeps loads before the store only if the output
    is computed from what they read; else no later output may need it. What is written for each row is made by the
    thread that writes it, from arrays that nothing else needs.
    """
    place, program = step.outputs.index(output), step.program
    written = program.outputs[place:]
    if not written[0].space & REDUCED:
        others = (*program.outputs[:place], *written[1:], *(a for fold in program.reduces for a in fold.args))
        return program.reads_again and not inputs & {e.value for e in walk(others) if e.op == "input"}
    own = postorder(written[:1], lambda e: () if e.op in ("result", "reduce") else e.args)
    later = postorder(written[1:], lambda e: () if e.op == "result" else e.args)
    own_inputs, later_inputs = ({e.value for e in found if e.op == "input"} for found in (own, later))
    return not inputs & later_inputs - own_inputs


def _why_not(result: View, v: View) -> str:
    """Why a result cannot take the place of an input."""
    if _are_same(result, v):
        return "what is there is needed for other elements"
    return "it is not the same elements, at the same places"


@contextmanager
def bound(operands: Operands) -> Iterator[list[int]]:
    """Binds all operands inside a ``with``, and yields the addresses of the parts of inputs, then outputs.

    Numbers have their value in place of an address.

    At the end results are in the caller's memory.
    """
    backend, stream = operands.backend, operands.stream
    try:
        pointers: list[int] = []
        for number, v in enumerate((*operands.inputs, *operands.outputs)):
            if number in operands.numbers:
                pointers.append(Start.of(v.word, number, 0))
                continue
            for p in v.parts():
                address = backend.bind(p, write=number >= len(operands.inputs), stream=stream)
                pointers.append(Start.of(address, number, p.address - v.address))
        yield pointers
    finally:
        backend.finish(operands.outputs, stream)


def collect(operands: Operands, name: str, structure: Structure, checks: Sequence[str]) -> Any:
    """The caller's results, nested as ``structure`` says; call it once the kernels are queued.

    Raises:
        ArgumentError: a check failed, with its code.
    """
    found = [finish() for finish in operands.results]
    results = len(found) - len(checks)
    for code, flags in zip(checks, found[results:], strict=True):
        if conversion.to_numpy(flags).any():
            raise error(code, name=name)
    return nest(structure, found[:results])


def prepare(operands: Operands, program: ArrayProgram, options: str, determinism: Determinism) -> PreparedProgram:
    """The plans of a program for the operands of a call."""
    backend = operands.backend
    machine = Machine(backend.target, backend.sms, backend.device_name)
    specs = tuple(
        _spec(p, 0 if i in operands.numbers else p.address % 16)
        for i, v in enumerate(operands.inputs) for p in real_parts(v)
    )  # fmt: skip
    results = tuple(_spec(p, p.address % 16) for v in operands.outputs for p in real_parts(v))
    found = prepare_program(program, specs, results, machine, options, determinism)
    if _overlap(found.steps) and "overlap" not in expand(options):
        arrays = [v for i, v in enumerate(operands.inputs) if i not in operands.numbers]
        if any(share(result, v) for result in operands.outputs for v in arrays):
            options = ",".join(filter(None, (options, "overlap=0")))
            return prepare_program(program, specs, results, machine, options, determinism)
    return found


def _overlap(steps: Sequence[PreparedStep]) -> bool:
    """Whether CTAs of a step read columns that their neighbours write results for."""
    return any(s.prepared.choice.plan.overlap for s in steps)


def _spec(v: View, address: int) -> ArraySpec:
    """What a plan depends on of an array."""
    return ArraySpec(v.shape, v.strides, address, v.dtype)


def run(operands: Operands, prepared: PreparedProgram, kernels: Sequence[Artifact] = ()) -> Any:
    """Launches the steps and returns the results in the caller's library, nested as the function returned them.

    Args:
        operands: the arrays of the call, with memory for the results.
        prepared: the steps and their plans.
        kernels: the kernels of each step; by default from the cache, or compiled.

    Raises:
        ArgumentError: WF186 where a result shares memory with an input that is still needed; nothing is written then.
            Or a check of the program failed, with its code; the results were written nevertheless.
    """
    same = check_overlaps(operands, prepared)
    artifacts = kernels or [artifact(s.prepared) for s in prepared.steps]
    backend, stream = operands.backend, operands.stream
    launches: list[PackedLaunch] | None = []
    with bound(operands) as pointers:
        layouts = [
            scratch(a, s.prepared.geometry, s.prepared.choice.run)
            for a, s in zip(artifacts, prepared.steps, strict=True)
        ]
        start = -(-prepared.nbytes // ALIGN) * ALIGN
        nbytes = start + max((own.nbytes for own in layouts), default=0)
        counters = max((own.counters for own in layouts), default=0)
        space = backend.workspace(nbytes, counters, stream)
        for own, a, layout in zip(prepared.steps, artifacts, layouts, strict=True):
            addresses = addresses_of(own.step, prepared, pointers, space.partials)
            scratch_of = Workspace(space.partials + start, space.counters)
            queued = backend.launch(a, _calls(own, a, addresses, scratch_of, layout), stream)
            launches = None if queued is None or launches is None else [*launches, *queued]
    program = prepared.program
    found = collect(operands, program.name, program.structure, program.checks)
    if launches is not None and not program.checks:
        recall.record(operands, launches, program.structure, shared=bool(nbytes or counters), same=same)
    return found


def _calls(own: PreparedStep, a: Artifact, addresses: Sequence[int], space: Workspace, layout: Scratch) -> list[Call]:
    """The kernel calls of a step; none for a step that has neither rows nor elements."""
    ready = own.prepared
    geometry = ready.geometry
    if not own.step.program.reduces and not geometry.n_reduced:
        return []
    count = own.elements if own.step.counted else None
    return calls(a, geometry, ready.choice.run, addresses, space, layout, count=count)


def addresses_of(step: Step, prepared: PreparedProgram, pointers: Sequence[int], buffers: int) -> list[int]:
    """The address of each operand of a step."""
    program, inputs = prepared.program, len(prepared.program.arrays)
    return [
        pointers[program.argument(program.views[o.number].array)]
        if o.kind == "view"
        else pointers[inputs + o.number]
        if o.kind == "output"
        else buffers + prepared.buffers[o.number]
        for o in (*step.inputs, *step.outputs)
    ]
