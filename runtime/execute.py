"""Runs an artifact on arrays: finds the backend, makes the results, binds memory, launches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..compiler.artifact import Artifact
from ..compiler.dtypes import DType
from ..compiler.errors import error
from ..compiler.geometry import Geometry
from ..compiler.plan import Launch
from . import arrays as libraries
from .backend import Backend, View
from .launch import calls, scratch
from .prepare import Shape


@dataclass
class Arrays:
    """The arrays of one call.

    Attributes:
        first: the first input as the caller gave it; results come in its library.
        inputs, outputs: views of all arrays.
        backend: the machine that will run.
        stream: the caller's stream.
        results: what to hand to the caller, made when called.
    """

    first: object
    inputs: tuple[View, ...]
    backend: Backend
    stream: int
    outputs: tuple[View, ...] = ()
    results: list[Callable[[], Any]] = field(default_factory=list)

    @classmethod
    def of(cls, xs: Sequence[object], device: str) -> Arrays:
        """Views of the inputs, and the backend that reaches them."""
        views = tuple(libraries.view(x) for x in xs)
        if not views:
            raise error("WF124", name="a reduction", expected="at least 1", found=0)
        if len({v.shape for v in views}) > 1:
            raise error("WF126", shapes=", ".join(str(v.shape) for v in views))
        libraries.common_device(views)
        return cls(xs[0], views, backend_for(views, device), libraries.stream_of(xs[0]))

    def allocate(self, axes: tuple[int, ...], outputs: Sequence[DType], out: Any, keepdims: bool) -> None:
        """Makes the result arrays, or checks those of ``out``."""
        full = self.inputs[0].shape
        shape = tuple(1 if a in axes else n for a, n in enumerate(full) if keepdims or a not in axes)
        if out is not None:
            given = out if isinstance(out, tuple | list) else (out,)
            if len(given) != len(outputs):
                raise error("WF125", expected=len(outputs), found=len(given))
            pairs = zip(given, outputs, strict=True)
            self.outputs = tuple(libraries.check_out(o, shape, t, self.inputs) for o, t in pairs)
            self._check_apart()
            self.results = [lambda o=o: o for o in given]  # type: ignore[misc]
            return
        made = [libraries.allocate(self.first, shape, t) for t in outputs]
        self.outputs = tuple(v for v, _ in made)
        self.results = [finish for _, finish in made]

    def _check_apart(self) -> None:
        """Several results must not overwrite each other.

        Raises:
            ArgumentError: WF132.
        """
        for position, v in enumerate(self.outputs):
            for other, w in enumerate(self.outputs[:position]):
                (low, high), (first, last) = v.extent, w.extent
                if max(low, first) < min(high, last):
                    raise error("WF132", position=position, other=other)

    def shapes(self, axes: tuple[int, ...]) -> tuple[Shape, ...]:
        """Inputs and outputs as the planner sees them; outputs without the axes that ``keepdims`` left in."""
        rank = len(self.inputs[0].shape)
        found = [Shape(v.shape, v.strides, v.address % 16, v.dtype) for v in self.inputs]
        for v in self.outputs:
            kept = [i for i in range(len(v.shape)) if len(v.shape) != rank or i not in axes or not axes]
            shape, strides = tuple(v.shape[i] for i in kept), tuple(v.strides[i] for i in kept)
            found.append(Shape(shape, strides, v.address % 16, v.dtype))
        return tuple(found)


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
        from .cuda_backend import backend

        found: Backend = backend(cuda.number if cuda else 0)
    else:
        found = _default() if device == "auto" else _emulator()
    if cuda is not None and found.name == "emulator":
        raise error("WF122", found=cuda, backend=found.name)
    return found


def _default() -> Backend:
    """CUDA where a driver and a device are, else the emulator."""
    from .cuda_backend import backend, find

    return backend(0) if find() else _emulator()


def _emulator() -> Backend:
    from .emulator_backend import emulator

    return emulator()


def run(arrays: Arrays, artifact: Artifact, geometry: Geometry, launch: Launch) -> Any:
    """Launches the kernels and returns the results in the caller's library."""
    backend, stream = arrays.backend, arrays.stream
    try:
        bound = [backend.bind(v, write=False, stream=stream) for v in arrays.inputs]
        bound += [backend.bind(v, write=True, stream=stream) for v in arrays.outputs]
        layout = scratch(artifact, geometry, launch)
        space = backend.workspace(layout.nbytes, layout.counters, stream)
        backend.launch(artifact, calls(artifact, geometry, launch, bound, space, layout), stream)
    finally:
        backend.finish(arrays.outputs, stream)
    found = [finish() for finish in arrays.results]
    return found[0] if len(found) == 1 else tuple(found)
