"""``warpfold sanitize``: its output as text and as JSON, and its exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from warpfold.cli import cli

LAUNCH = "sum<<<1, 512>>>(x:f32[4096], out:f32[1]=uninit, 1, 4096, 4096, 4096, 0, 1, 0)"


def invoke(*words: str) -> Result:
    return CliRunner().invoke(cli, ["sanitize", *words])


@pytest.fixture(scope="module")
def ptx() -> str:
    """warpfold's own kernel for the sum of 4096 f32: one CTA of 512 threads."""
    return CliRunner().invoke(cli, ["compile", "sum", "--shape", "4096"]).stdout


@pytest.fixture
def without_barrier(ptx: str, tmp_path: Path) -> str:
    """The same without the barrier between the warps' stores and loads."""
    path = tmp_path / "sum.ptx"
    path.write_text(ptx.replace("bar.sync", "// bar.sync"))
    return str(path)


@pytest.mark.parametrize(
    "words",
    [
        ["sum", "--shape", "4096"],
        ["argmax", "--shape", "33x65", "--axis", "0", "--dtype", "bf16"],
        ["var", "--shape", "65536", "--plan", "single-pass-merged"],
        ["max", "--shape", "5000", "--plan", "simple"],
    ],
    ids=lambda words: " ".join(words),
)
def test_nothing_is_found_in_kernels_of_ours(words: list[str]) -> None:
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    first, _, found, checked = result.stdout.splitlines()
    assert first.startswith(f"sanitize {words[0]} of ")
    assert found == "no findings"
    assert re.fullmatch(r"checked  \d+ launch\(es\) of [\d,]+ threads in all, [\d,]+ accesses", checked)


def test_a_right_program_is_clean(ptx: str, tmp_path: Path) -> None:
    path = tmp_path / "sum.ptx"
    path.write_text(ptx)
    result = invoke(str(path), "--launch", LAUNCH)
    assert (result.exit_code, "no findings" in result.stdout) == (0, True)


def test_a_finding_names_line_threads_place_and_the_missing_barrier(without_barrier: str) -> None:
    result = invoke(without_barrier, "--launch", LAUNCH)
    assert result.exit_code == 1
    text = result.stdout
    lines = Path(without_barrier).read_text().splitlines()
    head = re.search(r"^\d+\. shared-race at line (\d+): (.+)$", text, re.MULTILINE)
    assert head is not None, text
    assert " ".join(lines[int(head[1]) - 1].split()) == head[2]
    other = re.search(r"^   and +CTA \(0, 0, 0\), thread \(\d+, 0, 0\), line (\d+)$", text, re.MULTILINE)
    assert other is not None, text
    assert "st.shared" in lines[int(other[1]) - 1]
    assert re.search(r"^   thread +CTA \(0, 0, 0\), thread \(\d+, 0, 0\), line \d+$", text, re.MULTILINE), text
    assert re.search(r"^   at +\w+\[\d+\] \(shared\)$", text, re.MULTILINE), text
    assert re.search(r"^   what .*barrier", text, re.MULTILINE), text
    assert re.search(r"^\d+ finding\(s\)$", text, re.MULTILINE), text


def test_json_has_every_field_of_the_report(without_barrier: str) -> None:
    result = invoke(without_barrier, "--launch", LAUNCH, "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["checked"]["launches"] == 1
    assert report["checked"]["threads"] == 512
    race = next(f for f in report["findings"] if f["kind"] == "shared-race")
    assert set(race) == {"kind", "line", "text", "threads", "where", "words", "count"}
    assert [set(place) for place in race["threads"]] == [{"cta", "thread", "line", "source"}] * 2


def test_an_address_outside_is_a_finding(ptx: str, tmp_path: Path) -> None:
    path = tmp_path / "sum.ptx"
    path.write_text(ptx)
    result = invoke(str(path), "--launch", LAUNCH.replace("x:f32[4096]", "x:f32[4000]"))
    assert result.exit_code == 1
    assert re.search(r"^1\. out-of-bounds at line \d+: ld\.global", result.stdout, re.MULTILINE), result.stdout
    assert re.search(r"^   at +x\[40\d\d\] \(b32\)$", result.stdout, re.MULTILINE), result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.ptx", "--launch", "k<<<1, 1>>>()"], "WF506"),
        (["sum", "--launch", "k<<<1, 1>>>()"], "WF827"),
        (["sum", "--plan", "ladder"], "WF410"),
        (["sum", "--max-steps", "1"], "WF716"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else v,
)
def test_a_wrong_request_is_an_error_and_not_a_finding(words: list[str], said: str) -> None:
    result = invoke(*words)
    if said == "WF716":  # a launch that does not end is the kernel's fault
        assert (result.exit_code, "no-end at line" in result.stdout) == (1, True)
    else:
        assert (result.exit_code, result.stderr.startswith(said)) == (2, True), result.output


STRUCTURE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry fill(.param .align 8 .b8 p[16])
{
.reg .pred p1; .reg .b32 r<4>; .reg .b64 d<3>;
ld.param.u64 d0, [p]; ld.param.u32 r0, [p+8]; mov.u32 r1, %tid.x; setp.ge.u32 p1, r1, r0; @p1 ret;
mad.wide.u32 d1, r1, 4, d0;
st.global.u32 [d1], r1; ret;
}
"""


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ("p:{x:u32[64]=uninit, n:i32=64}", 0, "192 accesses"),
        ("p:{x:u32[64], n:i32}", 0, "128 accesses"),
        ("{u32[64], {64:u16, 0:u8}}", 0, "192 accesses"),
        ("{x:u32[60], 64:i32}", 1, "x[60] (u32)"),
        ("{x:u32[60]}", 2, "WF822: argument 0 of kernel 'fill' does not fit parameter 'p': expected .b8 of 16 bytes"),
        ("{x:u32[60], 1:i8, 300:u8}", 2, "expected a value of .u8, got 300 in the structure"),
        ("{x:u32[60], 5}", 2, "WF820"),
        ("{" * 9 + "}" * 9, 2, "WF820"),
    ],
)
def test_structures_are_given_by_their_fields(given: str, code: int, said: str, tmp_path: Path) -> None:
    path = tmp_path / "fill.ptx"
    path.write_text(STRUCTURE)
    result = invoke(str(path), "--launch", f"fill<<<1, 64>>>({given})")
    assert (result.exit_code, said in result.output) == (code, True), result.output


TURN = """.version 8.0
.target sm_80
.address_size 64
.visible .entry turn(.param .u64 x)
{
.reg .pred p1; .reg .b32 r<4>; .reg .b64 d0;
ld.param.u64 d0, [x]; mov.u32 r1, %ctaid.x; atom.global.exch.b32 r0, [d0], r1;
setp.ne.u32 p1, r0, 3; @p1 ret;
st.global.u32 [d0+4], r1;
}
"""


def test_seeds_find_what_another_order_of_atomics_reaches(tmp_path: Path) -> None:
    path = tmp_path / "turn.ptx"
    path.write_text(TURN)
    words = str(path), "--launch", "turn<<<4, 1>>>(x:u32[1]=9)"
    assert invoke(*words).exit_code == 0
    result = invoke(*words, "--seeds", "6")
    assert result.exit_code == 1
    assert re.search(r"what .*; found under the schedule of seed \d$", result.output, re.MULTILINE), result.output
    assert "and under 6 more schedule(s)" in result.output
