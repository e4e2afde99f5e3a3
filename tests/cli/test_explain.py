"""``warpfold explain`` of a reduction."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import MONOIDS, call

from warpfold.commands import levels
from warpfold.compiler.plan.launch import Launch
from warpfold.compiler.plan.plan import Plan


def test_explain_tells_levels_reasons_bytes_and_lines() -> None:
    text = call("explain", f"{MONOIDS}:rms", "--shape", "4096x1024", "--axis", "1").stdout
    assert "rms of f32 4096x1024 over axis 1, for sm_90a" in text
    assert "collapsed to 4,096 result(s) of 1,024 element(s) each" in text
    assert "16 MiB in, 16 KiB out" in text
    assert "at 4800 GB/s (data sheet: H200 SXM)" in text
    assert "lanes lie along the reduced axis" in text
    assert "fast=kept: neighbouring lanes would read distant addresses" in text
    assert "return a + b" in text
    assert "return wf.sqrt(wf.fold(total, x * x)" in text
    row = next(line for line in text.splitlines() if line.startswith("lane"))
    assert row.split()[:6] == ["lane", "32", "1", "32", "fold.warp_reduce", "lower-warp-shuffle"]
    assert "monoids.py:" in row


def test_explain_names_only_lines_of_the_user() -> None:
    text = call("explain", "var", "--shape", "100x100").stdout
    assert "prepare.py" not in text
    assert "monoids.py" in text


def test_a_level_without_a_stage_says_so() -> None:
    plan = Plan(lanes=32, warps=1)
    found = {v.name: v for v in levels.levels(plan, Launch(4, 1, 32))}
    assert found["warp"].stages == ()
    assert found["grid"].stages == ()
    assert found["lane"].stages == (("fold.warp_reduce", "lower-warp-shuffle"),)


def test_threads_that_exchange_states_in_memory_are_one_level() -> None:
    text = call("explain", "sum", "--shape", "100000", "--plan", "simple,warps=8").stdout
    assert re.search(r"^cta +256 +1 +256 +fold.cta_reduce +lower-cta-reduce ", text, re.MULTILINE)
    assert "fold.warp_reduce" not in text
    assert "warps=8,warps_kept=1,cta=interleaved,exchange=global,finish=cta" in text


def test_a_second_kernel_is_a_level() -> None:
    text = call("explain", "sum", "--shape", "120x16x7x7", "--axis", "0,2,3", "--plan", "fast=both").stdout
    assert re.search(r"^rest +49 +16 +4,096 +second kernel", text, re.MULTILINE)
    assert re.search(r"^ +then 16 CTA\(s\) of 256 threads, one a result$", text, re.MULTILINE)
    assert "- asked for: fast=both" in text
    assert "rejected\n" not in text
    assert re.search(r"- \d+ column\(s\) a warp", text)
    ran = call("run", "sum", "--shape", "120x16x7x7", "--axis", "0,2,3", "--plan", "fast=both").stdout
    assert "grid_finish -> second kernel (two_kernels)" in ran


def test_a_cluster_is_a_level_in_place_of_the_warps() -> None:
    text = call("explain", "sum", "--shape", "65536", "--plan", "cluster=8,warps=16").stdout
    assert re.search(r"^warp +16 +1 +512 +none: warps meet in the cluster$", text, re.MULTILINE)
    assert re.search(r"^cluster +8 +1 +4,096 +fold.cluster_reduce +lower-cluster-reduce ", text, re.MULTILINE)
    assert re.search(r"^grid +1 +1 +4,096 +none: nothing to combine", text, re.MULTILINE)
    assert re.search(r"^finish +each result is finished by the first CTA of a cluster$", text, re.MULTILINE)
    assert re.search(r"^arrivals +each CTA has an mbarrier, which counts the bytes of the states ", text, re.MULTILINE)
    assert "warps_kept=1,cluster=8,finish=cta" in text
    several = call("explain", "sum", "--shape", "65536", "--plan", "cluster=2,warps=16").stdout
    assert re.search(r"^grid +4 +1 +4,096 +fold.grid_finish ", several, re.MULTILINE)
    assert re.search(r"^partials +16 bytes ", several, re.MULTILINE)


def test_a_tile_is_a_level_before_all_others() -> None:
    text = call("explain", "sum", "--shape", "400000x31", "--axis", "1").stdout
    found = re.search(r"^tile +31 +(\d+) +256 +fold.tile_copy +lower-tile-copy$", text, re.MULTILINE)
    assert found is not None
    assert f"a CTA copies the elements of {found[1]} results into 16384 bytes of shared memory" in text
    assert re.search(r"^shared memory +16 KiB a CTA$", text, re.MULTILINE)
    assert "warps_kept=8,tile_bytes=16384,finish=cta" in text


def test_threads_that_share_a_strip_leave_their_states_to_one() -> None:
    text = call("explain", "softmax", "--shape", "4096x8191", "--dtype", "f16", "--axis", "0").stdout
    assert re.search(r"^cta +2 +1,024 +512 +none: one thread combines those of a column$", text, re.MULTILINE)
    assert re.search(r"^grid +16 +1,024 +65,536 +fold.await ", text, re.MULTILINE)
    assert "each CTA combines, for each of its columns, the states that the CTAs with this column leave" in text


def test_a_period_is_a_level_of_all_threads_of_a_cta() -> None:
    text = call("explain", "sum", "--shape", "1000000x9", "--axis", "0").stdout
    assert re.search(r"^register +20 +4 +1 +fold.thread_reduce ", text, re.MULTILINE)
    assert re.search(r"^cta +224 +512 +512 +fold.period_reduce +lower-period-reduce ", text, re.MULTILINE)
    assert "224 rows of 9 columns are a period of 512 threads: each reads 4 element(s) an access" in text
    assert "walk=interleaved: lanes along so few columns would read in pieces" in text
    assert "fold.warp_reduce" not in text


def test_explain_names_the_columns_of_staggered_warps() -> None:
    text = call("explain", "sum", "--shape", "4000x20001", "--axis", "0").stdout
    assert re.search(r"^register +500 +2 +1 +fold.thread_reduce ", text, re.MULTILINE)
    assert re.search(r"^lane +1 +31 +32 +none: nothing to combine$", text, re.MULTILINE)
    assert re.search(r"^warp +8 +1 +256 +fold.shared_store ", text, re.MULTILINE)
    assert "each of 8 warps reads every 8th row, from the boundary before the CTA's columns on: 2 element(s)" in text
    assert "walk=interleaved: columns that begin anywhere take two accesses for one" in text


def test_lanes_that_meet_in_steps_read_as_explain_says() -> None:
    """Rows in order: 16-byte accesses of 32 lanes are 16 sectors a request, of which all bytes are used."""
    text = call("explain", f"{MONOIDS}:affine", "--shape", "8x4096", "--axis", "1").stdout
    assert re.search(r"^lane +32 +1 +32 +fold.thread_reduce +lower-thread-reduce ", text, re.MULTILINE)
    assert "4 element(s) an access (16 bytes, aligned)" in text
    assert "lanes join what they read in each step, in order" in text
    counted = call("profile", f"{MONOIDS}:affine", "--shape", "8x4096", "--axis", "1").stdout
    assert re.search(r"^  sectors per request +16 ", counted, re.MULTILINE)
    assert re.search(r"^  bytes used +100.00 %", counted, re.MULTILINE)


SCANNED = {
    "4096x1000": ("2,048 along the kept axis", "a chunk of a row waits in registers", 1),
    "4194304": ("share 1 row(s) in turn", "a chunk of a row waits in shared memory", 0),
    "400x1000x12": ("take 600 chunk(s)", "a chunk of a row waits in registers", 1),
    "400x1000x13": ("400 CTA(s) of 64 threads, which keep 13 column(s) each", "in registers", 1),
    "300000x33": ("261 of each array, which keep 33 column(s) each", "in registers", 0),
}
"""The launch, and where elements wait: of whole rows, by warps with roles, of columns in chunks, kept, and in parts."""


@pytest.mark.parametrize("shape", SCANNED)
def test_the_levels_of_a_scan_name_the_stages_of_its_kernel(shape: str) -> None:
    launch, waits, axis = SCANNED[shape]
    how = ("cumulative_sum", "--shape", shape, "--axis", str(axis))
    text = call("explain", *how).stdout
    assert launch in text
    assert waits in text
    levels_of_it = text.partition("\nlevel ")[2].partition("\narray ")[0]
    named = {*re.findall(r"fold\.\w+", levels_of_it)}
    own = {"fold.thread_scan", "fold.warp_scan", "fold.shared_store", "fold.interwarp_scan", "fold.leave", "fold.seen"}
    emitted = call("compile", *how, "--emit", "stages").stdout
    assert named - {"fold.tile_copy"} == {op for op in own if f'"{op}"' in emitted}


def test_explain_says_what_to_declare(tmp_path: Path) -> None:
    """Of a fold that chooses a number, and declares nothing."""
    file = tmp_path / "extremes.py"
    file.write_text(OWN, encoding="utf-8")
    for name, said in (("mine", 1), ("told", 0)):
        shown = " ".join(call("explain", f"{file}:{name}", "--shape", "64x1000", "--axis", "1").stdout.split())
        assert shown.count("mine chooses an element's number") == said


OWN = """
import warpfold as wf

given = dict(identity=lambda t, i: (t.lowest, i.highest), has_identity=False, lift=lambda x: (x, wf.index()))

def combine(a, b):
    (x, i), (y, j) = a, b
    left = (x > y) | ((x == y) & (i < j)) | (wf.isnan(x) & ~wf.isnan(y)) | (wf.isnan(x) & wf.isnan(y) & (i < j))
    return wf.where(left, x, y), wf.where(left, i, j)

combine.__name__ = "mine"
mine, told = wf.monoid(**given)(combine), wf.monoid(**given, structure=wf.First("greatest"))(combine)
"""
