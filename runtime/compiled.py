"""``Compiled``: a compiled reduction, which can be inspected, saved and called."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..compiler.driver import artifact_file
from ..compiler.driver.artifact import Artifact
from ..compiler.errors import PlanError, error
from ..compiler.plan import tiles
from ..compiler.plan.facts import Facts
from ..compiler.plan.kernels import first_of_both
from ..compiler.plan.launch import Launch, shared
from ..compiler.plan.plan import Plan
from ..compiler.planner import choose as planner
from ..compiler.planner.layouts.factored import as_columns_of_any_size
from ..compiler.planner.layouts.gapped_columns import as_read
from ..compiler.planner.split import ctas
from ..compiler.planner.task import Task
from ..compiler.program.frames import caller, outermost, shown
from ..compiler.program.graph import ELEMENT, KEPT, Expr, Program
from ..compiler.program.spelling import wrong_count
from ..compiler.space.geometry import Geometry, collapse, normalize_axes
from ..compiler.target import target
from .arrays.torch_compile import opaque
from .calls.operands import Operands
from .calls.recall import Memo, arrays_of, call_key
from .calls.recipe import MISS
from .execute import run
from .tuned_plans import words as plan_words

if TYPE_CHECKING:
    from ..compiler.driver.pipeline import Stage
    from .backends.backend import Backend


class Compiled:
    """A compiled reduction, from ``wf.compile`` or ``wf.load``.

    Calling it reduces arrays of the types and over the axes that it was compiled for.
    """

    def __init__(self, artifact: Artifact) -> None:
        self._artifact = artifact
        self._memo = Memo()
        self._last = self._memo.last

    def __repr__(self) -> str:
        a = self._artifact
        over = "all axes" if a.axis is None else f"axis {','.join(map(str, a.axis))}"
        planned = f", planned for {shape}" if (shape := a.provenance.get("shape")) else ""
        dims = f"{a.main.facts.kept_rank} kept and {a.main.facts.reduced_rank} reduced dims"
        kernels = ", ".join(k.name for k in a.kernels)
        return (
            f"<warpfold.Compiled: {a.name} of {_names(a.arrays)} over {over}{planned} ({dims}), for {a.arch}; "
            f"kernels {kernels}; plan {plan_words(a.plan)}>"
        )

    def __reduce__(self) -> tuple[type[Compiled], tuple[Artifact]]:
        """Pickles the artifact only: remembered calls belong to this process."""
        return Compiled, (self._artifact,)

    @property
    def artifact(self) -> Artifact:
        """The compiled kernels with all that is known of them."""
        return self._artifact

    @property
    def ptx(self) -> str:
        """The PTX text."""
        return self.artifact.ptx

    @property
    def plan(self) -> Plan:
        """The plan of the kernel that reads the elements."""
        return self.artifact.plan

    @property
    def stages(self) -> list[Stage]:
        """The tensor program and the IR after every pass; imports MLIR."""
        from ..compiler.driver.compile import stages
        from ..passes import steps

        return stages(self.artifact.source, steps(target(self.artifact.arch), self.plan))

    @outermost
    def save(self, path: str | os.PathLike[str], *, cubins: Sequence[str] = ()) -> None:
        """Writes one file that ``wf.load`` runs without MLIR.

        Args:
            path: the file, written whole or not at all.
            cubins: architectures (``sm_90a``) to add machine code for; the PTX must target the same or an older one.

        Raises:
            FileError: WF505 when the file cannot be written.
            BackendError: WF606 or WF607 when ptxas, which makes cubins, is missing or fails.
        """
        from .ptxas import with_cubins  # not imported to run a kernel

        artifact_file.save(with_cubins(self.artifact, cubins), path)

    def __prepare_scriptable__(self) -> None:
        """Tells ``torch.jit.script`` that it cannot compile this."""
        raise error("WF223", name="a compiled reduction", where=caller())

    @opaque
    def __call__(
        self, *xs: object, out: Any = None, keepdims: bool = False, where: Any = None, device: str = "auto"
    ) -> Any:
        """Reduces ``xs``; see ``wf.reduce``."""
        key: Hashable = None
        if where is None and keepdims is False and device == "auto":
            key = len(xs) if out is None else -len(xs)
            recipe = self._last.get(key)
            if recipe is not None:  # the path of most calls, inlined
                found = recipe(xs[0], out) if key == -1 else recipe(*arrays_of(xs, out, None))
                if found is not MISS:
                    return found
        if key is None or type(out) is tuple:
            key = call_key(None, out, where, {"keepdims": keepdims, "device": device}, len(xs))
        arrays = arrays_of(xs, out, where)
        try:
            return self._memo.missed(key, None, arrays, lambda: self._run(xs, out, keepdims, where, device))
        except Exception as e:
            raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between

    def _run(self, xs: tuple[object, ...], out: Any, keepdims: bool, where: Any, device: str) -> Any:
        """A call in full, without a look at earlier calls."""
        a = self.artifact
        if self.artifact.masked != (where is not None):
            raise self._mismatch(*(f"calls {'with' if m else 'without'} where=" for m in (a.masked, where is not None)))
        arrays = Operands.of(xs, device, where)
        if len(arrays.types) != len(a.arrays):
            raise wrong_count(a.name, len(a.arrays) - a.masked, len(xs))
        if arrays.types != a.arrays:
            raise self._mismatch("elements of type " + _names(a.arrays), _names(arrays.types))
        axes = normalize_axes(a.axis, len(arrays.shape))
        arrays.allocate(axes, a.results, out, keepdims, len(a.checks))
        return run(arrays, a, *self._fit(arrays, axes), a.structure, a.checks)

    def _fit(self, arrays: Operands, axes: tuple[int, ...]) -> tuple[Geometry, Launch]:
        """Geometry and launch for these arrays; WF123 if the kernels do not serve them."""
        a = self.artifact
        inputs, outputs = arrays.shapes(axes)
        geometry = collapse(
            inputs[0].shape, axes, [i.strides for i in inputs], [o.strides for o in outputs],
            ordered=a.plan.walk == "blocked", indexed=a.indexed,
        )  # fmt: skip
        plan = first_of_both(a.plan)
        if plan != a.plan:
            left = as_columns_of_any_size(geometry, len(inputs))
            if left is None:
                dims = f"{len(geometry.kept)} kept and {len(geometry.reduced)} reduced dims"
                words = "two dims around one kept one reduced, which with the inner is one run"
                raise self._mismatch(words, f"another plan, since its {dims} do not lie so")
            geometry = left
        stand_in = Program(a.name, a.inputs, tuple(Expr("param", (), t, KEPT, i) for i, t in enumerate(a.outputs)))
        backend: Backend = arrays.backend
        addresses = tuple(s.address for s in (*inputs, *outputs))
        task = Task(stand_in, geometry, addresses, target(a.arch), backend.sms, a.determinism)
        if a.plan.resident:
            return geometry, self._fit_tile(task)
        if a.plan.tile_bytes and not tiles.units(a.plan, geometry, a.inputs):
            words = f"results whose elements lie in one run of memory of {a.plan.tile_bytes} bytes at most"
            raise self._mismatch(words, "another plan")
        task = as_read(task, plan)
        geometry = task.geometry
        needed = planner.facts(task, plan)
        needed = replace(needed, kept_rank=max(1, len(geometry.kept)), reduced_rank=max(1, len(geometry.reduced)))
        places = a.main.facts.places and geometry.count <= planner.NUMBERS  # the stand-in program uses no index
        needed = replace(needed, places=places)
        if geometry.n_reduced == 0:  # nothing is read
            needed = replace(needed, access=a.main.facts.access)
        if not serves(a.main.facts, needed):
            raise self._mismatch(words_of(a.main.facts), words_of(needed))
        if a.most is not None and geometry.count > a.most:
            raise self._mismatch(f"at most {a.most} elements a result", f"{geometry.count}")
        if geometry.n_reduced == 0 and geometry.n_kept and not a.has_identity:
            raise error("WF104", name=a.name, axes=axes, shape=inputs[0].shape)
        state = sum(t.itemsize for t in a.state)
        row = a.main.facts.row(geometry)
        parts = ctas(plan, geometry.n_kept, shared(plan, geometry), task.machine, state, task.itemsize, row)
        return geometry, planner.launch_of(plan, geometry, parts, a.inputs, row)

    def _fit_tile(self, task: Task) -> Launch:
        """The launch where elements wait in a tile, though they are read once; WF123 if the kernel does not serve them.

        The stand-in program folds: elements wait for folds alone.
        """
        a = self.artifact
        elements = tuple(Expr("input", (), t, ELEMENT, i) for i, t in enumerate(a.inputs))
        folds = tuple(Expr("reduce", elements, t, KEPT, i) for i, t in enumerate(a.outputs))
        try:
            choice = planner.choose(replace(task, program=Program(a.name, a.inputs, folds)), plan_words(a.plan))
        except PlanError:
            choice = None
        if choice is None or choice.plan != a.plan or not serves(a.main.facts, choice.facts):
            raise self._mismatch(words_of(a.main.facts), "another plan")
        return choice.run

    def _mismatch(self, expected: str, found: str) -> Exception:
        return error("WF123", name=self.artifact.name, expected=expected, found=found, call="wf.reduce")


def _names(types: Sequence[Any]) -> str:
    return ", ".join(t.name for t in types)


def words_of(f: Facts) -> str:
    ranks = f"{f.kept_rank} kept and {f.reduced_rank} reduced dims"
    results = ", results at one stride" if f.flat else ", results side by side" if f.store_vector else ""
    rows = f", {f.block[0]} elements of each of {f.block[1]} results in a block" if f.block else ""
    rows += ", gaps between rows" * f.gapped + ", runs in pieces" * f.pieces
    rows += ", few elements a result" * f.places + ", rows that fill the accesses of all threads" * f.full
    return f"{ranks}, {f.index_bits}-bit offsets, {', '.join(f.access)} access{results}{rows}"


_AS_WELL = (("shifted", "aligned"), ("tile_strided", "tile"))
"""Pairs (a, b) of accesses: a kernel with access a also serves arrays that allow access b."""


def serves(own: Facts, needed: Facts) -> bool:
    """Whether a kernel compiled for the facts ``own`` serves arrays with the facts ``needed``."""
    access, stores = (zip(of(own), of(needed), strict=True) for of in (attrgetter("access"), attrgetter("stores")))
    return (
        own.kept_rank >= needed.kept_rank
        and own.reduced_rank >= needed.reduced_rank
        and own.index_bits >= needed.index_bits
        and all(a in (b, "strided") or (a, b) in _AS_WELL for a, b in (*access, *stores))
        and (not own.full or needed.full)
        and (not own.store_vector or needed.store_vector)
        and (not own.flat or needed.flat or needed.kept_rank == 1)
        and (own.by_row or not needed.by_row)
        and (own.gapped or not needed.gapped)
        and (own.pieces or not needed.pieces)
        and own.block == needed.block
        and own.narrow == needed.narrow
        and (not own.places or needed.places)
    )
