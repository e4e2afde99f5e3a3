"""Edits of PTX change the given line, keep line numbers, and raise if there is no such line."""

from __future__ import annotations

import mutate
import pytest

PTX = """.visible .entry one(
)
{
\tst.shared.b32 \t[%rd1], %r1;
\tbar.sync \t0;
\tld.shared.b32 \t%r2, [%rd1+8];
\tbar.sync \t0;
\tshfl.sync.bfly.b32 \t%r3, %r2, 1, 31, -1;
\tfence.acq_rel.gpu;
\tatom.acq_rel.gpu.global.inc.u32 \t%r4, [%rd2], %r5;
}
.visible .entry two(
)
{
\tbar.sync \t0;
}
"""


def line(edit: mutate.Edit, number: int) -> str:
    lines = edit(PTX).splitlines()
    assert len(lines) == len(PTX.splitlines())
    return lines[number - 1].strip()


def test_an_instruction_is_dropped_by_its_number() -> None:
    assert line(mutate.barrier(1), 7) == ""
    assert line(mutate.barrier(1), 5) == "bar.sync \t0;"
    assert line(mutate.barrier(-1), 15) == ""


def test_an_edit_keeps_to_one_kernel() -> None:
    assert line(mutate.within("two", mutate.barrier(0)), 15) == ""
    with pytest.raises(LookupError, match="found 1 of them"):
        mutate.within("two", mutate.barrier(1))(PTX)


def test_addresses_and_masks_change() -> None:
    assert line(mutate.offset(r"st\.shared", 4), 4) == "st.shared.b32 \t[%rd1+4], %r1;"
    assert line(mutate.offset(r"ld\.shared", 4), 6) == "ld.shared.b32 \t%r2, [%rd1+4];"
    assert line(mutate.mask(r"shfl\.sync", 7), 8).endswith("31, 7;")


def test_memory_orders_change() -> None:
    assert line(mutate.NARROW, 9) == "fence.acq_rel.cta;"
    assert line(mutate.NARROW, 10).startswith("atom.acq_rel.cta")
    assert line(mutate.ordered("relaxed"), 10).startswith("atom.relaxed.gpu")
    assert line(mutate.fenced(before=True), 10).startswith("fence.acq_rel.gpu; atom.acq_rel.gpu")
    assert line(mutate.fenced(after=True), 10).endswith("%r5; fence.acq_rel.gpu;")
    assert "atom" not in line(mutate.load_and_store, 10)


def test_an_edit_without_its_line_raises() -> None:
    with pytest.raises(LookupError, match="expected instruction 3 that matches"):
        mutate.barrier(3)(PTX)
