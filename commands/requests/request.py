"""The request that most commands share: an operation and its arrays."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...compiler.dtypes import DType, dtype
from ...compiler.errors import error
from ...compiler.plan.fields import Determinism
from ...compiler.program.array_program import ArrayProgram
from ...compiler.program.cuts.cut import only_step
from ...runtime import api
from ...runtime.calls.operands import Operands
from ...runtime.prepare import Prepared
from ...runtime.programs import run
from ...runtime.programs.plans import PreparedProgram
from ...runtime.programs.reductions import operands_of, program_of
from ..checking import random_inputs
from . import inputs, operation

Array = inputs.Array


@dataclass
class Request:
    """An operation and its arrays, as given on the command line.

    Attributes:
        op: a built-in name or ``file.py:function``.
        files: the files of ``--input``; without them ``shape``, ``dtype`` and ``seed`` describe random arrays.
        axis_text: the axes, None for all.
        plan: ``key=value,...``.
        param_texts: ``key=value`` each, keyword parameters of the operation.
        determinism: what the bits of results may depend on.
    """

    op: str
    files: tuple[str, ...] = ()
    shape: str | None = None
    dtype: str | None = None
    axis_text: str | None = None
    plan: str = ""
    seed: int = 0
    param_texts: tuple[str, ...] = ()
    determinism: Determinism = "run"

    def __post_init__(self) -> None:
        if self.files and self.shape is not None:
            raise error("WF814", first="--input", option="--shape", remedy="the file says its shape")

    @cached_property
    def what(self) -> operation.What:
        """The reduction: a name, a monoid or a function."""
        return operation.operation(self.op)

    @cached_property
    def axis(self) -> tuple[int, ...] | None:
        """The axes, None for all."""
        return inputs.axis_of(self.axis_text)

    @cached_property
    def params(self) -> dict[str, Any]:
        """The keyword parameters."""
        return inputs.params_of(self.param_texts)

    @property
    def name(self) -> str:
        """The name of the reduction in output."""
        return operation.label(self.what)

    def users_code(self) -> AbstractContextManager[None]:
        """Turns exceptions of the user's function into an error with a code."""
        return operation.users_code(self.op.rpartition(":")[0] or self.op)

    @cached_property
    def arrays(self) -> list[Array]:
        """The input arrays, read or made."""
        if self.files:
            return inputs.from_files(self.files, self.what, self.dtype)
        shape, types, _ = self.kind()
        return random_inputs.from_seed(shape, types, self.seed, self.what, self.axis)

    def kind(self) -> tuple[tuple[int, ...], tuple[DType, ...], str]:
        """Shape, element types and origin of the arrays in words; reads no elements."""
        if self.files:
            xs = self.arrays
            return xs[0].shape, tuple(dtype(x.dtype) for x in xs), ", ".join(self.files)
        count = operation.input_count(self.what, (self.dtype or "").count(",") + 1)
        shape = inputs.shape_of(inputs.DEFAULT_SHAPE if self.shape is None else self.shape)
        return shape, inputs.dtypes_of("f32" if self.dtype is None else self.dtype, count), f"random, seed {self.seed}"

    def operands(self, xs: Sequence[Array], device: str) -> Operands:
        """The arrays, or copies ``xs`` of them, as those of one call."""
        return operands_of(xs, None, device)[0]

    def program(self, operands: Operands, *, keepdims: bool = False) -> ArrayProgram:
        """The program of one fold that the reduction of these arrays is."""
        with self.users_code():
            return program_of(self.what, self.axis, self.params, operands.inputs, keepdims=keepdims)

    def prepared(
        self,
        operands: Operands,
        plan: str | None = None,
        *,
        keepdims: bool = False,
        out: Any = None,
        determinism: Determinism | None = None,
    ) -> PreparedProgram:
        """The reduction of these arrays with its plan, and memory for its results.

        Args:
            operands: the arrays.
            plan: the options of the plan; by default those of the request.
            keepdims: whether results keep the reduced axes.
            out: arrays for the results, of a shape that ``shape_of`` gives.
            determinism: by default that of the request.
        """
        program = self.program(operands, keepdims=keepdims)
        only_step(program)
        run.allocate(operands, program, out)
        return run.prepare(operands, program, self.plan if plan is None else plan, determinism or self.determinism)

    def planned(self, arch: str) -> Prepared:
        """Program, geometry and plan for arrays of this shape and type."""
        shape, types, _ = self.kind()
        with self.users_code():
            how = {"axis": self.axis, "arch": arch, "plan": self.plan, "determinism": self.determinism, **self.params}
            found: Any = api.plan_for(self.what, shape, types, **how)
        return found  # type: ignore[no-any-return]

    def title(self) -> str:
        """The reduction in words: ``sum of f32 4096x1024 over axis 1``."""
        shape, types, _ = self.kind()
        names = ", ".join(dict.fromkeys(t.name for t in types))
        over = "all axes" if self.axis is None else "axis " + ",".join(map(str, self.axis))
        return f"{self.name} of {names} {'x'.join(map(str, shape)) or 'scalar'} over {over}"
