"""The request for a program of arrays: the program, its arrays, and the parameters that are baked in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...compiler.dtypes import dtype
from ...compiler.errors import error
from ...compiler.plan.fields import Determinism
from ...compiler.program.array_layouts import Output
from ...compiler.program.array_program import ArrayProgram
from ...compiler.program.arrays.trace import ArrayArg
from ...runtime.programs.arguments import Arguments, arguments_of
from ...runtime.programs.planned import Planned, planned
from ...runtime.programs.run import result_kinds
from ...runtime.programs.traces import Traces, names_of, of_arrays
from ...runtime.view import ArraySpec, contiguous, dense
from ..checking import random_inputs
from . import inputs, operation
from .array_options import Asked, asked
from .chosen_elements import choices

Array = inputs.Array


@dataclass
class ProgramRequest:
    """A program and its arrays, as given on the command line.

    Attributes:
        function: the Python function of the program.
        op: a name of the library, or ``file.py:name``.
        files, shapes, dtype: the arrays; see ``array_options.py``.
        axis_text: the parameter ``axis``; None to leave it out.
        plan: ``key=value,...``.
        seed: of random arrays.
        param_texts: ``key=value`` each, parameters that are baked into the kernels.
        determinism: what the bits of results may depend on.
    """

    function: Callable[..., Any]
    op: str
    files: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    dtype: str | None = None
    axis_text: str | None = None
    plan: str = ""
    seed: int = 0
    param_texts: tuple[str, ...] = ()
    determinism: Determinism = "run"

    @property
    def name(self) -> str:
        """The name of the program in output."""
        return operation.label(self.function)

    @cached_property
    def params(self) -> dict[str, Any]:
        """The parameters that are baked in."""
        found = inputs.params_of(self.param_texts)
        axes = inputs.axis_of(self.axis_text)
        if axes is None:
            return found
        if "axis" in found:
            raise error("WF817", key="axis", first=found["axis"], second=self.axis_text)
        return {"axis": axes[0] if len(axes) == 1 else axes} | found

    @cached_property
    def _call(self) -> tuple[Arguments, list[Asked]]:
        """The call without its arrays, and the arrays in the order in which kernels take them."""
        in_order, by_name = asked(self.function, self.files, self.shapes, self.dtype, self.params)
        return arguments_of(self.function, in_order, self.params | by_name)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the function calls its arrays."""
        arguments, given = self._call
        return names_of(self.function, arguments, len(given))

    @property
    def of_arrays(self) -> Callable[..., Any]:
        """The program as a function of its arrays by position."""
        arguments, given = self._call
        return of_arrays(self.function, arguments, len(given))

    def users_code(self) -> AbstractContextManager[None]:
        """Turns exceptions of the user's function into an error with a code."""
        return operation.users_code(self.op.rpartition(":")[0] or self.op)

    @cached_property
    def arrays(self) -> list[Array]:
        """The arrays in the order in which kernels take them, read or made."""
        made = [kind for x, kind in zip(self._read, self.kinds, strict=True) if x is None]
        random_inputs.expect_memory([(a.shape, a.dtype) for a in made])
        rng = np.random.default_rng(self.seed)
        indices = choices(self.program, [a.shape for a in self.kinds]) if any(a.dtype.is_integer for a in made) else {}
        return [
            random_inputs.random(rng, kind.shape, kind.dtype, indices.get(i)) if x is None else x
            for i, (x, kind) in enumerate(zip(self._read, self.kinds, strict=True))
        ]

    @cached_property
    def _read(self) -> list[Array | None]:
        """The arrays of files; None for those that are made."""
        return [inputs.from_file(a.path, a.dtype) if a.path else None for a in self._call[1]]

    @cached_property
    def kinds(self) -> tuple[ArrayArg, ...]:
        """Type and shape of each array; reads files, and makes no random elements."""
        return tuple(
            ArrayArg(dtype(a.dtype if x is None else x.dtype), a.shape if x is None else x.shape)
            for x, a in zip(self._read, self._call[1], strict=True)
        )

    @property
    def paths(self) -> list[str]:
        """The files that are read."""
        return [a.path for a in self._call[1] if a.path]

    @property
    def source(self) -> str:
        """Where the elements come from, in words."""
        given = self._call[1]
        drawn = f"random, seed {self.seed}"
        if not self.paths:
            return drawn
        return ", ".join(a.path or drawn for a in given)

    @cached_property
    def program(self) -> ArrayProgram:
        """The traced program.

        Raises:
            TraceError: what tracing raises, such as WF254 for shapes that do not broadcast.
        """
        return self.traced(self.kinds)

    def traced(self, kinds: Sequence[ArrayArg]) -> ArrayProgram:
        """The program traced for arrays of other kinds, with the same parameters."""
        with self.users_code():
            return self._traces.get(self._call[0], kinds)

    @cached_property
    def _traces(self) -> Traces:
        return Traces(self.function)

    def planned(self, arch: str) -> Planned:
        """Steps and plans for contiguous, aligned arrays of these shapes and types."""
        with self.users_code():
            return planned(self._call[0], self.specs[0], self._traces, arch, self.plan, self.determinism)

    @cached_property
    def specs(self) -> tuple[tuple[ArraySpec, ...], tuple[ArraySpec, ...]]:
        """Contiguous, aligned arrays of these shapes and types, and results for them."""
        read = tuple(ArraySpec(a.shape, contiguous(a.shape), 0, a.dtype) for a in self.kinds)
        kinds = zip(result_kinds(self.program, read), self.program.outputs, strict=True)
        return read, tuple(ArraySpec(shape, dense(shape, order), 0, o.dtype) for (shape, order), o in kinds)

    @property
    def results(self) -> tuple[Output, ...]:
        """The results of the program; behind them it has its checks."""
        outputs = self.program.outputs
        return outputs[: len(outputs) - len(self.program.checks)]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The size of each dim of the program."""
        return self.program.sizes_of([a.shape for a in self.kinds])

    def result_shape(self, number: int) -> tuple[int, ...]:
        """The shape of a result."""
        return self.program.outputs[number].shape(self.sizes)

    def expect_elements(self) -> None:
        """Checks that there is something to time.

        Raises:
            ArgumentError: WF836 for an array without elements.
        """
        for a in self.kinds:
            if 0 in a.shape:
                raise error("WF836", shape=a.shape)

    def title(self) -> str:
        """The program in words: ``softmax of x f32 4096x1024 with axis=-1``."""
        arrays = ", ".join(
            f"{name} {a.dtype.name} {inputs.shape_text(a.shape)}"
            for name, a in zip(self.names, self.kinds, strict=True)
        )
        params = ", ".join(f"{key}={value}" for key, value in self.params.items())
        return f"{self.name} of {arrays}" + (f" with {params}" if params else "")
