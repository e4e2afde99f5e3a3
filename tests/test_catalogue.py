"""Every kernel of the catalogue, for every target: it assembles without spills, and its PTX has the expected form."""

from __future__ import annotations

import pytest
from catalogue import CATALOGUE, Case
from covering import covering, some

import warpfold as wf
from warpfold.compiler.driver.compile import compile_program, session
from warpfold.compiler.driver.pipeline import printed
from warpfold.compiler.dtypes import BY_NAME
from warpfold.compiler.errors import PlanError
from warpfold.compiler.ir.mlir import ir
from warpfold.compiler.plan.ladder import RUNGS, Rung
from warpfold.compiler.target import TARGETS
from warpfold.passes import steps
from warpfold.runtime import api
from warpfold.runtime.ptxas import assemble, disassemble


def ptx(case: Case, arch: str) -> str:
    """The PTX of a case, compiled afresh."""
    ready = api.plan_for(case.what, case.shape, case.dtype, axis=case.axis, arch=arch, plan=case.plan)
    plan = ready.choice.plan
    return compile_program(ready.program, ready.choice.facts, plan, ready.target, steps(ready.target, plan)).ptx


@covering(("arch", list(TARGETS)), ("case", CATALOGUE, lambda c: c.name))
def test_every_kernel_assembles_without_spills(case: Case, arch: str) -> None:
    """On each target some, and each on some target: no spill, no local memory, no call.

    Cluster plans are refused on targets without clusters.
    """
    if "cluster" in case.plan and not TARGETS[arch].has_clusters:
        with pytest.raises(PlanError, match=f"WF414: .*: {arch} has no clusters of CTAs"):
            ptx(case, arch)
        return
    text = ptx(case, arch)
    assert ".local" not in text
    assert "call" not in text
    assembly = assemble(text, arch)
    assert assembly.spills == 0


@covering(("rung", RUNGS, lambda r: r.name), ("arch", list(TARGETS)))
def test_every_rung_assembles_without_spills(rung: Rung, arch: str) -> None:
    """The state of three values of Welford's variance, or a sum where an atomic ends it."""
    what, dtype = ("sum", "i32") if "atomic" in rung.options else ("mean_var", "f32")
    text = ptx(Case(what, (1 << 22,), dtype, plan=rung.name), arch)
    assert ".local" not in text
    assert "call" not in text
    assert assemble(text, arch).spills == 0


@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        (Case("sum", (1 << 22,)), "ld.global.nc.v4.b32"),
        (Case("sum", (1 << 22,), "f64"), "ld.global.nc.v2.b64"),
        (Case("sum", (4096, 4096), axis=0), "ld.global.nc.v4.b32"),
        (Case("max", (1 << 22,), "bf16"), "ld.global.nc.v4.b32"),
    ],
    ids=lambda v: v.name if isinstance(v, Case) else v,
)
def test_aligned_arrays_are_read_16_bytes_at_a_time(case: Case, wanted: str) -> None:
    assert wanted in ptx(case, "sm_90a")


def test_predicates_are_ballots_and_integers_are_redux_where_the_target_has_it() -> None:
    assert "vote.sync.ballot" in ptx(Case("any", (1 << 20,), "bool"), "sm_75")
    assert "redux.sync.max.s32" in ptx(Case("max", (1 << 20,), "i32"), "sm_80")
    assert "redux.sync" not in ptx(Case("max", (1 << 20,), "i32"), "sm_75")


def test_a_cta_of_1024_threads_has_registers_for_columns() -> None:
    """Two such CTAs on an SM, like smaller ones along the kept axis, would leave 32 registers a thread."""
    case = Case("var", (4096, 300), "f64", axis=0, plan="simple")
    assert assemble(ptx(case, "sm_90a"), "sm_90a").spills == 0


def test_rounds_within_a_warp_wait_for_that_warp_only() -> None:
    """256 positions: barriers of the CTA after the store and distances 128, 64 and 32, of the warp after 16 to 1."""
    text = ptx(Case("max", (1 << 20,), plan="cta=unrolled,finish=cta"), "sm_90a")
    assert text.count("bar.sync") == 4
    assert text.count("bar.warp.sync") == 5
    assert "shfl" not in text


def test_a_cluster_passes_its_barrier_once() -> None:
    """It arrives at the start and waits before it writes to the first CTA, which waits for the bytes."""
    text = ptx(Case("sum", (65536,), plan="cluster=8,warps=16"), "sm_90a")
    assert ".version 8.1" in text
    assert ".reqnctapercluster 1, 8, 1" in text
    order = [text.index("mbarrier.init"), text.index("barrier.cluster.arrive.relaxed"), text.index("ld.global"),
             text.index("barrier.cluster.wait"), text.index("mapa.shared::cluster"), text.index("st.async"),
             text.index("mbarrier.try_wait"), text.index("ld.shared")]  # fmt: skip
    assert order == sorted(order)
    assert (text.count("barrier.cluster"), text.count("bar.sync")) == (2, 0)


def test_a_cluster_that_counts_nothing_passes_its_barrier_twice() -> None:
    """It arrives at the start and waits before it writes to the first CTA; then arrives and waits again."""
    text = ptx(Case("sum", (65536,), plan="cluster=8,warps=16,arrivals=barrier"), "sm_90a")
    assert ".reqnctapercluster 1, 8, 1" in text
    order = [text.index("barrier.cluster.arrive.relaxed"), text.index("ld.global"), text.index("barrier.cluster.wait"),
             text.index("mapa.shared::cluster"), text.index("st.shared::cluster"), text.index("cluster.arrive.aligned"),
             text.rindex("barrier.cluster.wait"), text.index("ld.shared")]  # fmt: skip
    assert order == sorted(order)
    assert (text.count("barrier.cluster"), text.count("bar.sync")) == (4, 0)


def test_the_machine_code_reads_16_bytes_at_a_time() -> None:
    """The output of ptxas, read by the real disassembler."""
    text = disassemble(assemble(ptx(Case("sum", (1 << 22,)), "sm_90a"), "sm_90a").cubin)
    assert text.count("LDG.E.128") >= 8
    assert "SHFL.BFLY" in text


@pytest.mark.parametrize("case", some(CATALOGUE[::12], 3), ids=lambda c: c.name)
def test_every_stage_parses_again(case: Case) -> None:
    """MLIR parses the printed IR and prints the same text."""
    compiled = wf.compile(case.what, case.shape, BY_NAME[case.dtype], axis=case.axis, plan=case.plan)
    for stage in compiled.stages:
        with session():
            assert printed(ir.Module.parse(stage.ir).operation) == stage.ir.rstrip("\n") + "\n", stage.name
