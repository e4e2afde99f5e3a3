"""``warpfold explain --gradient``: what is kept, its bytes, and what the forward and the backward move."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from warpfold.cli import cli

SOURCE = """
import warpfold as wf

@wf.program
def scaled(x, w):
    size = wf.sum(x * x, axis=1, keepdims=True)
    return wf.exp(x / size) * w, size
"""


def call(*args: str) -> Result:
    return CliRunner().invoke(cli, ["explain", "--gradient", *args])


def lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_statistics_of_columns_are_kept() -> None:
    found = call("rms_norm", "--shape", "32768x4096", "--dtype", "bf16", "--axis", "0")
    assert found.exit_code == 0, found.output
    said = lines(found.output)
    assert said[0] == "the gradient of rms_norm of x bf16 32768x4096 with axis=0, for sm_90a"
    for line in (
        "x bf16 32768x4096 256 MiB argument, read",
        "kept beside 16 KiB, 1 array(s) that are no results",
        "saved 1 value(s) that the backward does not fold again",
    ):
        assert line in said
    (value,) = (line for line in said if line.startswith("value 0"))
    assert value.startswith("value 0 f32 4096 16 KiB written beside, norms.py:")


def test_a_result_is_read_and_an_argument_is_not() -> None:
    shape = "64x1000"
    found = call("add_rms_norm", "--shape", shape, "--shape", shape, "--shape", "1000")
    said = lines(found.output)
    assert "residual f32 64x1000 250 KiB argument, not read" in said
    assert "result 1 f32 64x1000 250 KiB read in place of what it is made of" in said
    (first, *_) = (line for line in said if line.startswith("step 1 of 2"))
    assert "reads result 1, gradient 0, weight, gradient 1; writes" in first
    assert "residual" not in first


def test_a_program_of_a_file_and_bits(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(SOURCE, encoding="utf-8")
    found = call(f"{path}:scaled", "--shape", "6x40", "--shape", "40")
    assert found.exit_code == 0, found.output
    assert "result 1" in found.output
    of_relu = call("relu", "--shape", "1000x1000")
    assert "u32 31250 122.1 KiB written beside as bits" in " ".join(of_relu.output.split())


def test_what_is_refused() -> None:
    assert "WF899: sum is a reduction" in call("sum", "--shape", "6").output
    plan = call("softmax", "--shape", "6x7", "--plan", "resident=memory")
    assert "WF897: --plan is for one program, and a gradient is two" in plan.output
