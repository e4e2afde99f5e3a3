"""``warpfold check --gradient``: what passes, what fails, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from warpfold.cli import cli

SOURCE = """
import warpfold as wf

@wf.program
def wrong(x):
    return x * wf.stop_gradient(x)

@wf.program
def greatest(x):
    return wf.max(x, axis=1)

@wf.program
def product(x, scale):
    return x * scale

@wf.program
def blend(x, w):
    return (x - wf.mean(x, axis=-1, keepdims=True)) * w

@wf.program
def choice(x, mask):
    return wf.where(mask, wf.sin(x), x * x)
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(SOURCE, encoding="utf-8")
    return str(path)


def call(*args: str) -> Result:
    return CliRunner().invoke(cli, ["check", "--gradient", *args])


def test_a_gradient_passes_on_all_inputs() -> None:
    found = call("layer_norm", "--shape", "3x8", "--shape", "8", "--shape", "8")
    assert found.exit_code == 0, found.output
    assert "the gradient of layer_norm of x f32 3x8, weight f32 8, bias f32 8" in found.output
    for name in ("as given", "large", "equal", "ties", "zeros", "infinite"):
        assert f"{name:<10}weight" in found.output
    assert "FAILED" not in found.output


@pytest.mark.parametrize(
    "args",
    [
        ("rms_norm", "--shape", "8x48", "--shape", "48"),
        ("leaky_relu", "--shape", "6x40"),
        ("normalize", "--shape", "4x3"),
    ],
)
def test_the_default_of_a_type_and_a_kink_at_zero_pass(args: tuple[str, ...]) -> None:
    """The epsilon of an RMS norm is that of f32, and zeros of a leaky ReLU are all moved to one side.

    A row of zeros has the slope 1e12 in ``normalize``, as far as 1e-12 from it.
    """
    found = call(*args)
    assert found.exit_code == 0, found.output


def test_what_is_no_gradient_fails_and_the_worst_case_is_shown(file: str) -> None:
    found = call(f"{file}:wrong", "--shape", "2x3")
    assert found.exit_code == 1
    assert "FAILED" in found.output
    worst = found.output.partition("the worst case")[2]
    lines = json.loads(call(f"{file}:wrong", "--shape", "2x3", "--json").output)["directions"]
    most = max((line for line in lines if line["known"]), key=lambda line: line["error"])
    where = "all elements" if most["element"] is None else f"element {most['element']}"
    assert f"inputs {most['inputs']}: {where} of x\n" in worst
    assert f"the gradient gives {most['derived']:.9g}," in worst


def test_at_ties_the_gradient_lies_between_both_sides(file: str) -> None:
    found = call(f"{file}:greatest", "--shape", "2x9", "--json")
    assert found.exit_code == 0, found.output
    lines = json.loads(found.output)["directions"]
    kinks = [line for line in lines if line["inputs"] == "equal" and not line["smooth"]]
    assert kinks
    for line in kinks:
        assert min(line["left"], line["right"]) <= line["derived"] <= max(line["left"], line["right"])


def test_arrays_without_gradients_are_left_out(file: str) -> None:
    found = call(f"{file}:choice", "--shape", "2x3", "--shape", "mask=2x3", "--dtype", "f64,mask=bool")
    assert found.exit_code == 0, found.output
    assert {line.split()[2] for line in found.output.splitlines() if line.startswith("as given")} == {"x"}


def test_eight_bit_floats_have_no_gradient(file: str) -> None:
    found = call(f"{file}:product", "--shape", "2x3", "--shape", "2x3", "--dtype", "f32,f8e4m3fn")
    assert found.exit_code == 0, found.output
    assert {line.split()[2] for line in found.output.splitlines() if line.startswith("as given")} == {"x"}


def test_no_floats_and_no_elements() -> None:
    found = call("softmax", "--shape", "3x4", "--dtype", "i32")
    assert found.exit_code == 2
    assert "WF904: no argument is an array of floats" in found.output
    assert call("softmax", "--shape", "0x4").exit_code == 0


def test_a_plan_is_refused() -> None:
    found = call("softmax", "--shape", "3x4", "--plan", "resident=l2")
    assert found.exit_code == 2
    assert "WF898: --plan chooses kernels, and --gradient runs none" in found.output


def test_a_reduction_is_refused() -> None:
    found = call("sum", "--shape", "3x4")
    assert found.exit_code == 2
    assert "WF899: sum is a reduction: --gradient is for programs" in found.output


def test_sums_of_infinities_print_no_warning(file: str) -> None:
    found = call(f"{file}:blend", "--shape", "6x7")
    assert (found.exit_code, "warning" in found.output) == (0, False)
