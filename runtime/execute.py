"""Runs an artifact on arrays: finds the backend, makes the results, binds memory, launches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..compiler.driver.artifact import Artifact
from ..compiler.dtypes import BOOL, DType
from ..compiler.errors import error
from ..compiler.plan.launch import Launch
from ..compiler.program.tracing import Structure, nest
from ..compiler.space.geometry import Geometry, memory_order
from .arrays import conversion as libraries
from .backends.backend import Backend, View
from .backends.kernel_calls import Start, calls, scratch
from .calls import recall
from .prepare import Prepared, Request, Shape, all_parts, prepare, traced


@dataclass
class Arrays:
    """The arrays of one call.

    Attributes:
        first: the first input as the caller gave it; results come in its library.
        inputs: views of the input arrays, broadcast to one shape; a mask is the last.
        backend: the machine that will run.
        stream: the caller's stream.
        outputs: views of the result arrays, then of the checks.
        results: what to hand to the caller, made when called; then the checks.
        masked: whether the last input is a mask.
    """

    first: object
    inputs: tuple[View, ...]
    backend: Backend
    stream: int
    outputs: tuple[View, ...] = ()
    results: list[Callable[[], Any]] = field(default_factory=list)
    masked: bool = False

    @classmethod
    def of(cls, xs: Sequence[object], device: str, mask: object = None) -> Arrays:
        """Views of the inputs and of the mask, if there is one, and the backend that reaches them.

        None and True are no mask: all elements take part.

        Raises:
            ArgumentError: WF126 when shapes do not broadcast, WF139 when the mask is none of the inputs' elements.
        """
        views = tuple(libraries.view(x) for x in xs)
        if not views:
            raise error("WF124", name="a reduction", expected="at least 1", found=0)
        shape = views[0].shape
        if any(v.shape != shape for v in views):
            shape = _common_shape(views)
            views = tuple(_broadcast(v, shape) for v in views)
        masked = mask is not None and mask is not True
        if masked:
            views += (_mask(mask, shape),)
        libraries.common_device(views)
        return cls(xs[0], views, backend_for(views, device), libraries.stream_of(xs[0]), masked=masked)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that all inputs have."""
        return self.inputs[0].shape

    @property
    def order(self) -> tuple[int, ...]:
        """The axes as they lie in memory, outermost first."""
        return memory_order(self.shape, [v.strides for v in self.inputs])

    @property
    def types(self) -> tuple[DType, ...]:
        """The element type of each input."""
        return tuple(v.dtype for v in self.inputs)

    def allocate(
        self, axes: tuple[int, ...], types: Sequence[DType], out: Any = None, keepdims: bool = False, checks: int = 0,
        order: tuple[int, ...] | None = None,
    ) -> None:  # fmt: skip
        """Makes the result arrays, or checks those of ``out``; then one array of bools per check.

        What is made lies in memory as the inputs do, or in ``order``: the results' axes, outermost first.
        """
        if not isinstance(keepdims, bool | int | np.bool_):
            raise error("WF138", option="keepdims", value=keepdims, expected="True or False", default=False)
        shape, own = _results(self.shape, tuple([v.strides for v in self.inputs]), axes, keepdims)
        order = own if order is None else order
        made = [libraries.allocate(self.first, shape, t, order) for t in (() if out is not None else types)]
        self.outputs = tuple(v for v, _ in made)
        self.results = [finish for _, finish in made]
        if out is not None:
            given = out if isinstance(out, tuple | list) else (out,)
            if len(given) != len(types):
                raise error("WF125", expected=len(types), found=len(given))
            pairs = zip(given, types, strict=True)
            self.outputs = tuple(libraries.check_out(o, shape, t, self.inputs) for o, t in pairs)
            libraries.check_apart(self.outputs)
            self.results = [lambda o=o: o for o in given]  # type: ignore[misc]
        for view, finish in (libraries.allocate(self.first, shape, BOOL, order) for _ in range(checks)):
            self.outputs += (view,)
            self.results.append(finish)

    def shapes(self, axes: tuple[int, ...]) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
        """Inputs and outputs as the planner sees them: parts; outputs without the axes that ``keepdims`` left in."""
        rank = len(self.shape)
        inputs = [Shape(v.shape, v.strides, v.address % 16, v.dtype) for v in self.inputs]
        outputs = []
        for v in self.outputs:
            kept = [i for i in range(len(v.shape)) if len(v.shape) != rank or i not in axes or not axes]
            shape, strides = tuple(v.shape[i] for i in kept), tuple(v.strides[i] for i in kept)
            outputs.append(Shape(shape, strides, v.address % 16, v.dtype))
        return all_parts(inputs), all_parts(outputs)


@lru_cache(maxsize=4096)
def _results(
    shape: tuple[int, ...], strides: tuple[tuple[int, ...], ...], axes: tuple[int, ...], keepdims: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of the results of inputs with such ``strides``, and their axes as they lie in memory."""
    kept = [a for a in range(len(shape)) if keepdims or a not in axes]
    order = tuple(kept.index(a) for a in memory_order(shape, strides) if a in kept)
    return tuple(1 if a in axes else shape[a] for a in kept), order


def _common_shape(views: Sequence[View]) -> tuple[int, ...]:
    """The shape that the views broadcast to; WF126 when there is none."""
    import numpy as np

    try:
        return np.broadcast_shapes(*(v.shape for v in views))
    except ValueError:
        raise error("WF126", shapes=", ".join(str(v.shape) for v in views)) from None


def _broadcast(v: View, shape: tuple[int, ...]) -> View:
    """``v`` seen as an array of ``shape``, to which it broadcasts: repeated dims have stride 0."""
    missing = len(shape) - len(v.shape)
    own = zip(v.shape, v.strides, shape[missing:], strict=True)
    strides = (0,) * missing + tuple(0 if size == 1 and n != 1 else stride for size, stride, n in own)
    return replace(v, shape=shape, strides=strides)


def _mask(mask: object, shape: tuple[int, ...]) -> View:
    """The view of a mask of elements of ``shape``; WF139 when it is none."""
    v = libraries.view(mask)
    fits = len(v.shape) <= len(shape) and all(
        m in (1, n) for m, n in zip(v.shape[::-1], shape[::-1], strict=False)
    )  # fmt: skip
    if v.dtype != BOOL or not fits:
        raise error("WF139", dtype=v.dtype, shape=v.shape, expected=shape)
    return _broadcast(v, shape)


def backend_for(views: Sequence[View], device: str) -> Backend:
    """The backend that ``device`` names and that reaches the views.

    Raises:
        ArgumentError: WF121 no such device, WF122 memory out of the backend's reach.
        BackendError: WF604 or WF605 when CUDA is asked for and is not there.
    """
    if device not in ("auto", "cuda", "emulator"):
        raise error("WF121", device=device)
    cuda = next((v.device for v in views if v.device.kind == "cuda"), None)
    if device == "cuda" or (cuda is not None and device == "auto"):
        from .backends.cuda_backend import backend

        found: Backend = backend(cuda.number if cuda else 0)
    else:
        found = _default() if device == "auto" else _emulator()
    if cuda is not None and found.name == "emulator":
        raise error("WF122", found=cuda, backend=found.name)
    return found


def _default() -> Backend:
    """CUDA where a driver and a device are, else the emulator."""
    from .backends.cuda_backend import backend, find

    return backend(0) if find() else _emulator()


def _emulator() -> Backend:
    from .backends.emulator_backend import emulator

    return emulator()


def prepared(request: Request, arrays: Arrays, out: Any = None, keepdims: bool = False) -> Prepared:
    """Program, geometry and plan for the arrays and their backend, with memory for the results, or checked ``out``."""
    found, _ = traced(request, arrays.types, arrays.shape)
    arrays.allocate(request.axes, found.results, out, keepdims, len(found.checks))
    inputs, outputs = arrays.shapes(request.axes)
    backend = arrays.backend
    return prepare(request, arrays.types, inputs, outputs, backend.target, backend.sms, backend.device_name)


def side_by_side(ready: Prepared) -> Structure:
    """The results one after another, however the program nests them."""
    return "results", (), tuple(range(len(ready.traced.results)))


def run(
    arrays: Arrays, artifact: Artifact, geometry: Geometry, launch: Launch, structure: Structure, checks: Sequence[str]
) -> Any:
    """Launches the kernels and returns the results in the caller's library, nested as ``structure`` says.

    Raises:
        ArgumentError: the code of a check that came out true; the results were written by then.
    """
    backend, stream = arrays.backend, arrays.stream
    with bound(arrays) as pointers:
        layout = scratch(artifact, geometry, launch)
        space = backend.workspace(layout.nbytes, layout.counters, stream)
        launches = backend.launch(artifact, calls(artifact, geometry, launch, pointers, space, layout), stream)
    found = collect(arrays, artifact.name, structure, checks)
    if launches is not None and not checks:
        recall.heard(arrays, launches, structure, shared=bool(layout.nbytes or layout.counters))
    return found


@contextmanager
def bound(arrays: Arrays) -> Iterator[list[int]]:
    """The addresses of the parts of all inputs, then of all outputs; afterwards results are in the caller's memory."""
    backend, stream = arrays.backend, arrays.stream
    try:
        pointers: list[int] = []
        for number, v in enumerate((*arrays.inputs, *arrays.outputs)):
            for p in v.parts():
                address = backend.bind(p, write=number >= len(arrays.inputs), stream=stream)
                pointers.append(Start.of(address, number, p.address - v.address))
        yield pointers
    finally:
        backend.finish(arrays.outputs, stream)


def collect(arrays: Arrays, name: str, structure: Structure, checks: Sequence[str]) -> Any:
    """What the caller gets, once the kernels are queued.

    Raises:
        ArgumentError: the code of a check that came out true.
    """
    found = [finish() for finish in arrays.results]
    results = len(found) - len(checks)
    for code, flags in zip(checks, found[results:], strict=True):
        if libraries.to_numpy(flags).any():
            raise error(code, name=name)
    return nest(structure, found[:results])
