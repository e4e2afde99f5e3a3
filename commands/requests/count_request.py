"""The request for a count: a histogram, or the number of elements of each value.

It is a reduction of arrays that are stretched along the results, as ``runtime/histograms.py`` stretches them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...compiler.dtypes import DType, dtype
from ...compiler.errors import WarpfoldError, error
from ...compiler.program.array_program import ArrayProgram
from ...compiler.program.spelling import unknown
from ...runtime.calls.operands import Operands
from ...runtime.histograms import Count, of_bincount, of_histogram
from ...runtime.prepare import Prepared
from ...runtime.programs.planned import planned_program
from ...runtime.view import spec_of
from ..checking import random_inputs
from . import inputs, operation
from .request import Array, Request

OPTIONS: dict[str, dict[str, Any]] = {"histogram": {"bins": 10, "range": None}, "bincount": {"minlength": 0}}
"""The counts, and the parameters of each with their defaults."""
BELOW = 10
"""Random integers that are counted lie below this."""


class CountRequest(Request):
    """A count, as given on the command line; of two files the second has weights."""

    @property
    def name(self) -> str:
        """The count in output."""
        return self.op

    def kind(self) -> tuple[tuple[int, ...], tuple[DType, ...], str]:
        """Shape, element types and origin of the elements, and of their weights, in words."""
        source = ", ".join(self.files) or f"random, seed {self.seed}"
        return self.given[0].shape, tuple(dtype(x.dtype) for x in self.given), source

    @cached_property
    def given(self) -> list[Array]:
        """The elements, and their weights if there are any."""
        if len(self.files) > 2:
            raise error("WF819", name=self.op, expected="1 or 2", found=len(self.files))
        asked = inputs.dtypes_of(self.dtype, len(self.files) or 1) if self.dtype else ()
        if self.files:
            return [inputs.from_file(p, t) for p, t in zip(self.files, asked or (None, None), strict=False)]
        shape = inputs.shape_of(inputs.DEFAULT_SHAPE if self.shape is None else self.shape)
        t = asked[0] if asked else dtype("f32" if self.op == "histogram" else "i32")
        random_inputs.expect_memory([(shape, t)])
        return [random_inputs.random(np.random.default_rng(self.seed), shape, t, BELOW if t.is_integer else None)]

    @cached_property
    def options(self) -> dict[str, Any]:
        """The parameters of the function."""
        if self.axis_text is not None:
            raise self.without("--axis")
        given, own = inputs.params_of(self.param_texts), OPTIONS[self.op]
        for key in given.keys() - own.keys():
            raise unknown(self.op, key, own, array=False)
        return own | given

    @cached_property
    def count(self) -> Count:
        """What is counted."""
        x, *weights = self.given
        own = weights[0] if weights else None
        if self.op == "bincount":
            return of_bincount(x, own, self.options["minlength"], "emulator")
        return of_histogram(x, self.options["bins"], self.options["range"], own, "emulator")[0]

    @cached_property
    def what(self) -> operation.What:
        """The tensor program."""
        return self.count.what  # type: ignore[no-any-return]

    @cached_property
    def params(self) -> dict[str, Any]:
        """The parameters of the tensor program."""
        return self.count.params

    @cached_property
    def arrays(self) -> list[Array]:
        """The elements, their weights, and the edges of bins."""
        return [*self.count.arrays, *self.count.edges]

    def operands(self, xs: Sequence[Array], device: str) -> Operands:
        """The arrays, stretched along the results."""
        own = len(self.count.arrays)
        return self.count._replace(arrays=tuple(xs[:own]), edges=tuple(xs[own:])).operands(device)

    def program(self, operands: Operands, *, keepdims: bool = False) -> ArrayProgram:  # noqa: ARG002 - it has none
        """The reduction over all axes of the elements: the results come first."""
        return self.count.program(operands)

    def planned(self, arch: str) -> Prepared:
        """Program, geometry and plan for these arrays."""
        operands = self.operands(self.arrays, "emulator")
        specs = tuple(map(spec_of, operands.inputs))
        names = tuple(f"array_{i}" for i in range(len(specs)))
        planned = planned_program(self.program(operands), names, specs, arch, self.plan, self.determinism)
        return planned.prepared.steps[0].prepared

    def expected(self) -> list[Array]:
        """NumPy's counts."""
        x, *weights = self.given
        own = None if not weights else weights[0].ravel().astype(object)
        if self.op == "bincount":
            found = np.zeros(self.count.results, object)
            np.add.at(found, x.ravel().astype(np.int64), 1 if own is None else own)
            return [found.astype(np.int64)]
        as_numpy = x if x.dtype.kind in "fiu" else x.astype(np.float32 if x.dtype.kind == "V" else np.uint8)
        return [np.histogram(as_numpy, self.options["bins"], self.options["range"], weights=own)[0].astype(np.int64)]

    def title(self) -> str:
        """The count in words: ``histogram of f32 4096x1024 in 64 results``."""
        shape, types, _ = self.kind()
        return f"{self.op} of {types[0].name} {'x'.join(map(str, shape)) or 'scalar'} in {self.count.results} results"

    def without(self, option: str) -> WarpfoldError:
        """The error for an option that counts have not."""
        return error("WF859", name=self.op, option=option)
