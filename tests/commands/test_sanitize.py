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
