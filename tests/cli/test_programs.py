"""Programs of arrays on the command line: what is run, printed and written, and how requests are refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import call, fails

import warpfold as wf
from warpfold.commands.requests.choose import request_of

FILE = """
import warpfold as wf

@wf.program
def scaled(x, t):
    return x * t

@wf.program
def centred(x, *, axis=-1):
    mean = wf.mean(x, axis=axis, keepdims=True)
    return {"mean": mean, "rest": x - mean}

def soft(x):
    e = wf.exp(x - wf.max(x, axis=-1, keepdims=True))
    return e / wf.sum(e, axis=-1, keepdims=True)

def positive(x):
    return wf.maximum(x, 0), wf.pack(x > 0)

def chosen(x, bits):
    return wf.where(wf.unpack(bits, x.shape), x, 0)

def squared(x):
    return x * x if x.shape[0] == 4 else x

def branching(x, w):
    return x if x > w else w

FACTOR = 2
"""
ON = ("--device", "emulator")
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "own.py"
    file.write_text(FILE)
    return str(file)


def softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


# --- run ---------------------------------------------------------------------------------------------------------
def test_run_shows_one_screen() -> None:
    text = call("run", "softmax", "--shape", "4x40", *ON).stdout
    assert "run      softmax of x f32 4x40 (random, seed 0)" in text
    assert "on       emulator of sm_90a" in text
    assert "result   f32[4, 40]" in text
    assert re.search(r"check    passed: error \S+ \(\S+ of the greatest result\), within the allowed \S+", text)
    assert "resident=registers" in text
    assert "stages   block_reduce -> warp_reduce\n" in text


def test_run_reads_and_writes_files(tmp_path: Path) -> None:
    x = np.random.default_rng(1).standard_normal((6, 20)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    call("run", "softmax", "--input", tmp_path / "x.npy", "--axis", "0", "--output", tmp_path / "y.npy", *ON)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), softmax(x, 0), rtol=1e-5)
    assert f"WF505: cannot write {tmp_path}/x.npy: it is an input of this command" in fails(
        "run", "softmax", "--input", tmp_path / "x.npy", "--output", tmp_path / "x.npy"
    )


def test_arrays_of_several_shapes(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(12.0, dtype=np.float32).reshape(3, 4))
    words = ("--input", tmp_path / "x.npy", "--input", "random", "--shape", "4", "--dtype", "f32,f64", "--seed", "3")
    found = json.loads(call("run", "rms_norm", *words, *ON, "--json").stdout)
    assert found["passed"] is True
    assert [(a["name"], a["dtype"], a["shape"]) for a in found["arrays"]] == [
        ("x", "f32", [3, 4]), ("weight", "f64", [4]),
    ]  # fmt: skip
    assert found["dims"] == [{"name": "x.0", "size": 3}, {"name": "x.1", "size": 4}]
    assert found["source"].endswith("x.npy, random, seed 3")


def test_parameters_and_arrays_by_name() -> None:
    words = ("--shape", "3x8", "--shape", "bias=8", "--param", "eps=1e-3", "--axis", "1")
    text = call("run", "layer_norm", *words, *ON).stdout
    assert "layer_norm of x f32 3x8, bias f32 8 with axis=1, eps=0.001" in text
    assert "passed" in text
    masked = ("--shape", "3x8", "--shape", "where=3x8", "--dtype", "bf16,where=bool")
    assert "softmax of x bf16 3x8, where bool 3x8" in call("run", "softmax", *masked, *ON).stdout


def test_an_elementwise_function_has_a_name(tmp_path: Path) -> None:
    words = ("--shape", "3x20", "--param", "low=-0.5", "--param", "high=0.5", "--param", "keep=bits", "--seed", "1")
    shown = call("run", "clip", *words, "--output", tmp_path / "found.npz", *ON).stdout
    assert "clip of x f32 3x20 with low=-0.5, high=0.5, keep=bits" in shown
    with np.load(tmp_path / "found.npz") as saved:
        assert np.abs(saved["output"]).max() == 0.5
        assert saved["bits"].shape == (2,)
    assert "WF105: no rule for elements of type" in fails("run", "bitcast", "--shape", "8")  # its type is no array


def test_a_number_is_an_argument_of_the_kernel(path: str) -> None:
    text = call("run", f"{path}:scaled", "--shape", "3x8", "--shape", "scalar", *ON).stdout
    assert "scaled of x f32 3x8, t f32 scalar" in text


def test_several_results(path: str, tmp_path: Path) -> None:
    words = ("run", f"{path}:centred", "--shape", "4x8", *ON)
    text = call(*words).stdout
    assert "result mean  f32[4, 1]" in text
    assert "check rest   passed" in text
    shown = fails(*words, "--output", tmp_path / "out.npy")
    assert "WF845: the results of centred have shapes (4, 1) (4, 8): a .npy file holds arrays of one shape" in shown
    assert "write --output to a file that ends in .npz" in shown
    call(*words, "--output", tmp_path / "out.npz")
    (x,) = request_of(f"{path}:centred", shapes=("4x8",)).arrays
    with np.load(tmp_path / "out.npz") as saved:
        np.testing.assert_allclose(saved["rest"], x - x.mean(1, keepdims=True), atol=1e-6)
        np.testing.assert_allclose(saved["mean"], x.mean(1, keepdims=True), atol=1e-6)


def test_a_plain_function_of_arrays(path: str) -> None:
    assert "soft of x f32 4x8" in call("run", f"{path}:soft", "--shape", "4x8", *ON).stdout


def test_arrays_of_bits(path: str) -> None:
    asked = ("--shape", "3x100", "--shape", "3x4", "--dtype", "f32,u32")
    made = call("run", f"{path}:positive", "--shape", "3x100", *ON).stdout
    assert "u32[3, 4]" in made
    assert made.count("passed: equal to NumPy's") == 2
    assert "passed: equal to NumPy's" in call("run", f"{path}:chosen", *asked, *ON).stdout
    assert "4 bit(s) of a word" in call("explain", f"{path}:chosen", *asked).stdout
    assert "shuffle" in call("profile", f"{path}:positive", "--shape", "3x100").stdout
    wrong = fails("run", f"{path}:chosen", "--shape", "3x100", "--shape", "3x5", "--dtype", "f32,u32", *ON)
    assert "WF289: bits have shape (3, 5): expected (3, 4)" in wrong


def test_a_wrong_result_fails(path: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from warpfold.commands.programs import run

    launched = run.launched
    monkeypatch.setattr(run, "launched", lambda *a: [r + np.float32(1e-4) for r in launched(*a)])
    words = ("run", f"{path}:soft", "--shape", "4x8", *ON, "--output", tmp_path / "out.npy")
    text = call(*words, code=1).stdout
    assert "FAILED: error 0.0001" in text
    assert "nothing, since the check failed" in text
    assert not (tmp_path / "out.npy").exists()
    assert "left out (--no-check)" in call(*words[:-2], "--no-check").stdout


def test_portable_bits_do_not_depend_on_other_rows() -> None:
    found = []
    for shape in ("5x100", "1x100"):
        words = ("run", "softmax", "--shape", shape, "--determinism", "portable", *ON, "--json", "--param", "axis=-1")
        found.append(json.loads(call(*words).stdout))
    assert [f["passed"] for f in found] == [True, True]
    plans = [f["steps"][0]["plan"] for f in found]
    assert plans[0] == plans[1]


def test_rows_of_any_length_may_wait_in_memory() -> None:
    words = ("softmax", "--shape", "2x300000", "--plan", "resident=memory")
    text = call("run", *words, *ON).stdout
    assert "resident=memory" in text
    assert "passed" in text
    assert "one step: not cut" in call("explain", *words).stdout
    mask = ("explain", "relu", "--shape", "4096", "--param", "keep=bits")
    assert "of 8 lanes, joined by 3 shuffles; the first lane of a word stores it" in call(*mask).stdout
    assert "one ballot gives a warp its word" in call(*mask, "--plan", "ballot").stdout
    assert "each lane stores its own 8 bits" in call(*mask, "--plan", "byte-per-thread").stdout
    cut = call("explain", "softmax", "--shape", "8x40", "--plan", "resident=none").stdout
    assert "cut into 2 steps" in cut
    assert "cut at the grid: asked for: resident=none" in cut
    two = call("run", "softmax", "--shape", "8x40", "--plan", "resident=none,warps=2", *ON).stdout
    assert re.search(r"^plan 1 .*warps=2,", two, re.MULTILINE)
    assert "passed" in two
    shown = fails("explain", "softmax", "--shape", "2x3000000", "--plan", "resident=shared")
    assert "WF426: resident=shared: a row has " in shown
    shown = fails("explain", "sum", "--plan", "resident=memory")
    assert "WF427: sum reads each element once, so that no row waits: resident=memory is for rows that are" in shown


# --- compile -----------------------------------------------------------------------------------------------------
def test_compile_shows_all_steps_in_order(path: str) -> None:
    words = ("compile", "softmax", "--shape", "4x50000000")
    title = "// ===== step {} of 2: softmax_{}, {} along x.1, one for each x.0; reads {}; writes {} ====="
    titles = [
        title.format(1, 0, "rows", "x", "buffer 0, buffer 1"),
        title.format(2, 1, "elements", "x, buffer 0, buffer 1", "result"),
    ]
    for form, inside in (("program", "func.func @softmax_{}("), ("ptx", ".entry softmax_{}(")):
        text = call(*words, "--emit", form).stdout
        assert [line for line in text.splitlines() if line.startswith("// ===== step")] == titles
        assert [text.index(inside.format(i)) for i in (0, 1)] == sorted(text.index(inside.format(i)) for i in (0, 1))
    one = call("compile", f"{path}:soft", "--shape", "4x100", "--emit", "stages").stdout
    assert one.startswith("// ===== one step: soft, rows along x.1, one for each x.0; reads x; writes result =====\n")
    assert "// ===== after distribute =====" in one


def test_plans_of_steps_as_json() -> None:
    found = json.loads(call("compile", "softmax", "--shape", "4x50000000", "--emit", "plan", "--json").stdout)
    assert [(b["dtype"], b["dims"], b["bytes"]) for b in found["buffers"]] == [("f32", ["x.0"], 16)] * 2
    first, second = found["steps"]
    assert (first["name"], first["kept"], first["reduced"]) == ("softmax_0", ["x.0"], ["x.1"])
    assert first["writes"] == ["buffer 0", "buffer 1"]
    assert second["reads"] == ["x", "buffer 0", "buffer 1"]
    assert second["plan"]["resident"] == "registers"


def test_the_plan_that_compile_shows_is_taken_by_plan() -> None:
    text = call("compile", "softmax", "--shape", "4x100", "--emit", "plan").stdout
    (plan,) = re.findall(r"^--plan (\S+)$", text, re.MULTILINE)
    assert plan in call("run", "softmax", "--shape", "4x100", "--plan", plan, *ON).stdout


# --- explain -----------------------------------------------------------------------------------------------------
def test_explain_says_where_a_row_waits() -> None:
    text = call("explain", "layer_norm", "--shape", "4096x1024", "--shape", "1024", "--shape", "1024").stdout
    assert "one step: not cut, since a CTA or a cluster owns each row" in text
    assert re.search(r"^  x.1  1,024  also weight.0, bias.0$", text, re.MULTILINE)
    assert re.search(r"^  weight +f32 +1024 +read along x.1$", text, re.MULTILINE)
    assert re.search(r"^must move +16.01 MiB in, 16 MiB out$", text, re.MULTILINE)
    assert re.search(r"^moves +32.01 MiB, 1.00 times what must$", text, re.MULTILINE)
    held = re.search(r"a row waits in registers: (\d+) access\(es\) of 16 bytes in each of (\d+) thread\(s\)", text)
    assert held is not None
    assert int(held[1]) * int(held[2]) * 4 == 1024
    assert re.search(r"^  phase 2 +folds SUM\S* along x.1, with the results of phases before$", text, re.MULTILINE)
    assert "bits          those of a result depend on its row and the plan" in text
    assert "  - resident=shared: registers hold the row, without a copy" in text
    assert "  - resident=memory: each of 2 phase(s) would read the row again" in text
    assert "Python behind the step" in text


def test_explain_says_that_accesses_go_on_in_the_next_column() -> None:
    text = call("explain", "softmax", "--shape", "8000000x3", "--axis", "0").stdout
    assert re.search(r"^cta +683 +3 +512 +fold.warp_reduce", text, re.MULTILINE)
    assert re.search(r"^grid +132 +3 +67,584 +fold.await", text, re.MULTILINE)
    assert "each CTA combines the states that all CTAs leave of each of its columns" in text


@pytest.mark.parametrize(
    ("determinism", "shape", "text"),
    [
        ("run", "8x40", "its row and the plan, which follows from shapes, strides, alignment, types and the machine"),
        ("portable", "8x40", "its row alone: the elements, their number and their type"),
        ("portable", "2x5000000", "and on how many rows there are, since a reduction folds the row"),
        ("none", "8x40", "where the plan says finish=atomic, also on the order in which CTAs end"),
    ],
)
def test_explain_says_what_bits_depend_on(determinism: str, shape: str, text: str) -> None:
    assert text in call("explain", "softmax", "--shape", shape, "--determinism", determinism).stdout


def test_explain_counts_what_is_gathered_of_an_array() -> None:
    text = call("explain", "nll_loss", "--shape", "512x1000", "--shape", "512", "--dtype", "bf16,i64").stdout
    for line in (
        r"x +bf16 +512x1000 +gathered along x.0", "must move +5 KiB in, 4 bytes out",
        "reads x +x.0 +2 bytes, at indices +1",
    ):  # fmt: skip
        assert re.search(line, text)


def test_explain_says_why_a_program_is_cut() -> None:
    text = call("explain", "softmax", "--shape", "8x5000000", "--arch", "sm_80").stdout
    assert "cut into 2 steps" in text
    assert "cut at the grid: no CTA or cluster owns a row of 5,000,000 elements" in text
    assert re.search(r"^  - resident=\w+: \d+ ", text, re.MULTILINE)
    assert "a step of its own: it folds nothing, and needs what earlier steps fold" in text
    assert re.search(r"^  buffer 0 +f32 +along x.0 +32 bytes$", text, re.MULTILINE)
    assert re.search(r"^moves +457.8 MiB, 1.50 times what must$", text, re.MULTILINE)


def test_explain_counts_what_rows_in_memory_are_read_again() -> None:
    text = call("explain", "softmax", "--shape", "8x4096", "--plan", "resident=memory").stdout
    assert "a row waits in memory: 3 walks read it, each what it needs" in text
    assert re.search(r"^moves +512 KiB, 2.00 times what must$", text, re.MULTILINE)
    assert re.search(r"^reads x +x.0 x.1 +16 bytes, aligned +3$", text, re.MULTILINE)


def test_explain_says_what_a_program_is_specialised_to(path: str) -> None:
    text = call("explain", f"{path}:squared", "--shape", "4x1x8").stdout
    assert "x.0 has size 4: the function asks for it" in text
    assert "x.1 has size 1: it broadcasts" in text


# --- the emulator's tools ----------------------------------------------------------------------------------------
def test_profile_counts_each_step(path: str) -> None:
    found = json.loads(call("profile", f"{path}:centred", "--shape", "16x64", "--json").stdout)
    assert found["title"] == "centred of x f32 16x64"
    assert found["elements"] == 16 * 64
    moved = next(m for m in found["total"]["metrics"] if m["name"] == "global bytes moved")
    assert moved["ideal"] == 2 * 16 * 64 * 4 + 16 * 4
    two = call("profile", "softmax", "--shape", "2x3000", "--plan", "resident=none").stdout
    assert re.findall(r"^softmax_\d", two, re.MULTILINE) == ["softmax_0", "softmax_1"]
    assert "all launches" in two


def test_the_profile_of_a_program_that_is_a_reduction_is_that_of_the_reduction(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("import warpfold as wf\n\n@wf.program\ndef total(x):\n    return wf.sum(x, axis=1)\n")
    how = ("--shape", "16x64", "--json")
    program, reduction = (
        json.loads(call("profile", *words, *how).stdout)["total"]["metrics"]
        for words in ((f"{file}:total",), ("sum", "--axis", "1"))
    )
    assert program == reduction
    assert program[0]["ideal"] > 0


def test_profile_sets_bits_apart_and_shows_ballots() -> None:
    asked = ("profile", "relu", "--param", "keep=bits", "--shape", "3072")
    text = call(*asked, "--plan", "ballot").stdout
    assert re.search(r"^    ballots +96 ", text, re.MULTILINE)
    assert re.search(r"^x +f32 +load +96 +384 +384 +12,288 +100.00 %", text, re.MULTILINE)
    assert re.search(r"^bits +bits +store +96 +96 +96 +384 +12.50 %", text, re.MULTILINE)
    found = json.loads(call(*asked, "--rungs", "--json").stdout)
    assert [a["elements"] for a in found["total"]["arrays"]] == ["f32", "f32", "bits"]
    rungs = {r["rung"]: (r["ballots"], r["bits_sectors"], r["element_sectors"]) for r in found["rungs"]}
    assert rungs["ballot"] == (96, 96, 768)
    assert rungs["redux"] == (0, 24, 768)
    table = call(*asked, "--rungs").stdout.partition("on the emulator")[2]
    assert re.search(r"^spread-ballots .* 128 +128 +24 +768", table, re.MULTILINE)
    assert "WF847: sum is a reduction" in fails("profile", "sum", "--shape", "64", "--rungs")


def test_sanitize_finds_nothing_in_a_program(path: str) -> None:
    text = call("sanitize", "layer_norm", "--shape", "3x70", "--shape", "70", "--shape", "70").stdout
    assert "sanitize layer_norm of x f32 3x70, weight f32 70, bias f32 70" in text
    assert "no findings" in text
    assert "no findings" in call("sanitize", f"{path}:scaled", "--shape", "3x8", "--shape", "scalar").stdout


def test_explain_names_an_axis_that_slices_share_once(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("import warpfold as wf\n\n@wf.program\ndef halves(x):\n    return x[:, :4] - x[:, 4:]\n")
    shown = [line.split() for line in call("explain", f"{file}:halves", "--shape", "3x8").output.splitlines()]
    assert ["x.0", "3"] in shown
    assert ["x.1[:4]", "4", "also", "x.1[4:]"] in shown


# --- refusals ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("softmax", "--shape", "3x8", "--shape", "8", "--shape", "8"),
         "WF840: softmax takes 1 array(s) (x), got 3\n  help: give one --shape or --input for each"),
        (("softmax", "--keepdims"), "WF844: softmax is a program of arrays: --keepdims is for reductions"),
        (("softmax", "--plan", "lanes=64"), "WF403: plan field lanes cannot be '64'"),
        (("softmax", "--plan", "lane=4"), "WF402: "),
        (("softmax", "--shape", "4x8", "--plan", "finish=atomic"), "WF425: softmax reads its rows again"),
        (("softmax", "--param", "axs=1"), "WF127: softmax takes no parameter 'axs'"),
        (("sum", "--shape", "8", "--shape", "9"), "WF843: sum is a reduction of arrays of one shape, got 2 shapes"),
        (("layer_norm", "--shape", "4x8", "--shape", "9"), "WF254: shapes "),
        (("softmax", "--shape", "4x8", "--axis", "2"), "WF256: axis 2 is not an axis of x"),
    ],
)  # fmt: skip
def test_bad_requests(words: tuple[str, ...], text: str) -> None:
    assert text in fails("run", *words)


def test_mistakes_in_the_users_file_are_located(path: str) -> None:
    shown = fails("run", f"{path}:branching", "--shape", "4x8", "--shape", "8")
    assert "WF201: the function branches on a symbolic value" in shown
    line = FILE.splitlines().index("    return x if x > w else w") + 1
    assert f"at {path}:{line}: return x if x > w else w" in shown
    assert "WF806: " in fails("run", f"{path}:scale")
    assert "it has scaled centred soft positive chosen squared branching" in fails("run", f"{path}:scale")
    assert "WF807: FACTOR of " in fails("run", f"{path}:FACTOR")


def test_an_artifact_of_a_program_runs_without_the_program(tmp_path: Path) -> None:
    call("compile", "softmax", "--shape", "4x40", "--emit", "artifact", "-o", tmp_path / "x.warpfold")
    x = np.random.default_rng(0).standard_normal((4, 40)).astype(np.float32)
    np.testing.assert_allclose(wf.load(tmp_path / "x.warpfold")(x, device="emulator"), softmax(x), rtol=1e-5)


# --- the pages ---------------------------------------------------------------------------------------------------
def test_the_commands_of_the_page_of_programs_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.random.default_rng(0).standard_normal((64, 1000)).astype(np.float32))
    found = re.findall(r"^    warpfold (.*)$", (DOCS / "programs.md").read_text(encoding="utf-8"), re.MULTILINE)
    smaller = {"ladder": ("--shape", "64x256"), "spread": ("--seeds", "1", "--plan", "lanes=32,cluster=1,vector=1")}
    assert {line.split()[0] for line in found} == {"run", "explain", "compile", "check", "spread", "ladder"}
    for line in found:
        words = line.split()
        assert call(*words, *smaller.get(words[0], ())).stdout


def test_the_command_of_the_readme_runs() -> None:
    (line,) = re.findall(r"^`warpfold (explain [^`]*)`", (DOCS.parent / "README.md").read_text(encoding="utf-8"), re.M)
    assert "a row waits in" in call(*line.split()).stdout
