"""Runs an artifact on operands: allocates results, binds memory, launches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..compiler.driver.artifact import Artifact
from ..compiler.errors import error
from ..compiler.plan.launch import Launch
from ..compiler.program.tracing import Structure, nest
from ..compiler.space.geometry import Geometry
from .arrays import conversion
from .backends.kernel_calls import Start, calls, scratch
from .calls import recall
from .calls.operands import Operands
from .prepare import Prepared, Request, prepare, traced


def prepared(request: Request, arrays: Operands, out: Any = None, keepdims: bool = False) -> Prepared:
    """Prepares a request for the operands, and allocates their results or checks ``out``."""
    found, _ = traced(request, arrays.types, arrays.shape)
    arrays.allocate(request.axes, found.results, out, keepdims, len(found.checks))
    inputs, outputs = arrays.shapes(request.axes)
    backend = arrays.backend
    return prepare(request, arrays.types, inputs, outputs, backend.target, backend.sms, backend.device_name)


def side_by_side(ready: Prepared) -> Structure:
    """The structure of a flat tuple of all results."""
    return "results", (), tuple(range(len(ready.traced.results)))


def run(
    arrays: Operands,
    artifact: Artifact,
    geometry: Geometry,
    launch: Launch,
    structure: Structure,
    checks: Sequence[str],
) -> Any:
    """Launches the kernels and returns the results in the caller's library, nested as ``structure`` says.

    Raises:
        ArgumentError: a check failed, with its code; the results were written nevertheless.
    """
    backend, stream = arrays.backend, arrays.stream
    with bound(arrays) as pointers:
        layout = scratch(artifact, geometry, launch)
        space = backend.workspace(layout.nbytes, layout.counters, stream)
        launches = backend.launch(artifact, calls(artifact, geometry, launch, pointers, space, layout), stream)
    found = collect(arrays, artifact.name, structure, checks)
    if launches is not None and not checks:
        recall.record(arrays, launches, structure, shared=bool(layout.nbytes or layout.counters))
    return found


@contextmanager
def bound(arrays: Operands) -> Iterator[list[int]]:
    """Binds all operands inside a ``with``, and yields the addresses of the parts of inputs, then outputs.

    Numbers have their value in place of an address.

    At the end results are in the caller's memory.
    """
    backend, stream = arrays.backend, arrays.stream
    try:
        pointers: list[int] = []
        for number, v in enumerate((*arrays.inputs, *arrays.outputs)):
            if number in arrays.numbers:
                pointers.append(Start.of(v.word, number, 0))
                continue
            for p in v.parts():
                address = backend.bind(p, write=number >= len(arrays.inputs), stream=stream)
                pointers.append(Start.of(address, number, p.address - v.address))
        yield pointers
    finally:
        backend.finish(arrays.outputs, stream)


def collect(arrays: Operands, name: str, structure: Structure, checks: Sequence[str]) -> Any:
    """The caller's results, nested as ``structure`` says; call it once the kernels are queued.

    Raises:
        ArgumentError: a check failed, with its code.
    """
    found = [finish() for finish in arrays.results]
    results = len(found) - len(checks)
    for code, flags in zip(checks, found[results:], strict=True):
        if conversion.to_numpy(flags).any():
            raise error(code, name=name)
    return nest(structure, found[:results])
