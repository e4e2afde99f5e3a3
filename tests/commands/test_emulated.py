"""Operations and programs under a tool: the launch syntax, the arrays it makes, and every mistake in it."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from warpfold.cli import cli
from warpfold.commands.emulated import Work, watch
from warpfold.commands.requests import launch_syntax
from warpfold.commands.requests.launch_syntax import Again, Made, Scalar
from warpfold.commands.requests.request import Request
from warpfold.compiler.errors import ArgumentError, WarpfoldError
from warpfold.runtime.emulator import Tool
from warpfold.runtime.emulator.tool import Touch

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 factor, .param .u32 n)
{
.reg .pred p; .reg .b32 r<4>; .reg .f32 f<3>; .reg .b64 d<5>;
ld.param.u64 d0, [x]; ld.param.u64 d1, [y]; ld.param.f32 f0, [factor]; ld.param.u32 r0, [n];
mov.u32 r1, %ctaid.x; mov.u32 r2, %ntid.x; mov.u32 r3, %tid.x; mad.lo.u32 r1, r1, r2, r3;
setp.ge.u32 p, r1, r0; @p bra done;
mad.wide.u32 d2, r1, 4, d0; mad.wide.u32 d3, r1, 4, d1;
ld.global.f32 f1, [d2]; mul.f32 f1, f1, f0; st.global.f32 [d3], f1;
done: ret;
}
.visible .entry spin() { here: bra here; }
.visible .entry half(.param .b16 h, .param .align 8 .b8 pair[12]) { ret; }
.visible .entry show(.param .u64 x, .param .b16 h, .param .align 4 .b8 pair[8])
{
.reg .b16 h0; .reg .b32 r<2>; .reg .b64 d0;
ld.param.u64 d0, [x]; ld.param.b16 h0, [h]; ld.param.u32 r0, [pair]; ld.param.u32 r1, [pair+4];
cvt.u32.u16 r0, h0; st.global.u32 [d0], r0; st.global.u32 [d0+4], r1; ret;
}
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    """The path of the program above."""
    path = tmp_path / "scale.ptx"
    path.write_text(PTX)
    return str(path)


class Names(Tool):
    """Records which arrays a kernel accesses, and whether they were initialised."""

    def __init__(self) -> None:
        self.seen: dict[str, bool] = {}

    def touch(self, touch: Touch) -> None:
        for piece in touch.pieces:
            if piece.home is not None:
                self.seen[piece.home.name] = piece.home.initialised


def _warpfold(*words: str) -> Result:
    return CliRunner().invoke(cli, words, catch_exceptions=False)


def test_arrays_of_an_operation_have_descriptive_names() -> None:
    tool = Names()
    found = watch(Work(Request("sum", shape="1048576")), tool)
    assert tool.seen == {"input 0": True, "result 0": False, "partials": False, "counters": True}
    assert found.arrays["result 0"] == pytest.approx(found.arrays["input 0"].sum(dtype=np.float64), abs=0.1)
    assert (found.elements, found.nbytes) == (2**20, 4 * 2**20 + 4)
    assert found.arrays["input 0"].ctypes.data % 256 == 0


def test_launches_share_named_arrays(program: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(100, dtype=np.float32))
    first = f"scale<<<4, 32>>>({tmp_path / 'x.npy'}, y:f32[100]=uninit, 2.0, 100)"
    tool = Names()
    found = watch(Work(Request(program), (first, "scale<<<dim3(4), (32, 1)>>>(y, f32[100]=0, 0.5, 100)")), tool)
    np.testing.assert_array_equal(found.arrays["y"], 2 * np.arange(100))
    np.testing.assert_array_equal(found.arrays["argument 1"], np.arange(100))
    assert tool.seen == {str(tmp_path / "x.npy"): True, "y": False, "argument 1": True}
    assert found.named == ("y",)


def test_arrays_are_filled_as_asked_or_with_the_random_elements_of_run(program: str) -> None:
    launch = "scale<<<1, 8>>>(f32[8], f32[2x4]=arange, 1, 8)"
    found = watch(Work(Request(program, seed=3), (launch,)), None)
    np.testing.assert_array_equal(found.arrays["argument 0"], Request("norm", shape="8", seed=3).arrays[0])
    assert found.arrays["argument 1"].shape == (2, 4)
    full = watch(Work(Request(program), ("scale<<<1, 8>>>(f32[8]=-1.5, f32[8]=0, 2, 8)",)), None)
    assert full.arrays["argument 1"].tolist() == [-3.0] * 8


def test_the_launch_syntax() -> None:
    found = launch_syntax.read(
        "k<<<(16, 4), dim3(8,2,1), 4096, 2>>>(x:f32[4096x2]=arange, 0x10:u64, -1, 1e3, null, x, a/b.npy);"
    )
    assert (found.kernel, found.grid, found.block) == ("k", (16, 4, 1), (8, 2, 1))
    assert (found.shared, found.cluster) == (4096, (2, 1, 1))
    x, sixteen, minus, thousand, null, again, file = found.arguments
    assert isinstance(x, Made)
    assert (x.name, str(x.dtype), x.shape, x.fill) == ("x", "f32", (4096, 2), "arange")
    assert isinstance(sixteen, Scalar)
    assert (sixteen.value, sixteen.size) == (16, 8)
    assert [a.value for a in (minus, thousand, null) if isinstance(a, Scalar)] == [-1, 1000.0, 0]
    assert isinstance(again, Again)
    assert isinstance(file, Made)
    assert (again.name, file.fill, file.dtype) == ("x", "a/b.npy", None)
    assert found.text[found.end] == ")"


@given(st.text("k<>(),:=[]x0123456789.fu32 nullhex-", max_size=30))
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_launch_or_a_coded_error(text: str) -> None:
    with suppress(ArgumentError):
        launch_syntax.read(text)


@pytest.mark.parametrize(
    ("launch", "said", "under"),
    [
        ("scale<<4, 32>>>(x)", "WF820: the launch does not parse: expected .*, got '<'", "<<4"),
        ("scale<<<4 32>>>(x)", "WF820: .*expected ',', got '32'", "32>>>"),
        ("scale<<<0, 32>>>(x)", "WF820: .*not below 1, got '0'", "0, 32"),
        ("scale<<<(1,2,3,4), 32>>>(x)", r"WF820: .*at most three sizes, got '\)'", "), 32"),
        ("scale<<<4, 32>>>(f32[])", r"WF820: .*a shape such as 1024 or 4096x1024, got '\]'", "])"),
        ("scale<<<4, 32>>>(q32[4])", "WF820: .*an element type such as f32 or i64, got 'q32'", "q32"),
        ("scale<<<4, 32>>>(1:q3)", "WF820: .*one of the types u8 .*, got 'q3'", "q3)"),
        ("scale<<<4, 32>>>(f32[4]=wild)", "WF820: .*a number, arange, uninit or a .npy file, got 'wild'", "wild"),
        ("scale<<<4, 32>>>(f32[4]", r"WF820: .*'\)' or ',', got the end", ""),
        ("scale<<<4, 32>>>() more", r"WF820: .*nothing behind the '\)', got 'more'", "more"),
        ("scael<<<4, 32>>>()", r"WF821: no kernel is called 'scael' \(did you mean scale\?\): .* has scale ", "scael"),
        ("<<<4, 32>>>()", "WF821: the launch names no kernel: .* scale spin", "<<<"),
        ("scale<<<4, 32>>>(7, 7:u32, 1.0, 4)", "WF822: argument 1 .*.u64 of 8 bytes, got a .u32 of 4", "7:u32"),
        ("scale<<<4, 32>>>(f32[4], 0.5, 1.0, 4)", "WF822: argument 1 .*.u64 of 8 bytes, got the float 0.5", "0.5"),
        ("scale<<<4, 32>>>(0, 0, 1.0, f32[4])", "WF822: argument 3 .*of 4 bytes, got an array, whose", "f32"),
        ("scale<<<4, 32>>>(0, 0, 1.0, 4294967296)", "WF822: argument 3 .*got the integer 4294967296", "4294"),
        ("half<<<4, 32>>>(1, 1)", "WF822: argument 1 .*of 12 bytes, got a number\n", "1)"),
        ("half<<<4, 32>>>(1, hex:0011)", "WF822: argument 1 .*of 12 bytes, got 2 bytes", "0011)"),
        ("half<<<4, 32>>>(1.5, 1)", "WF822: argument 0 .*got the float 1.5; write 1.5:f16 or 1.5:bf16", "1.5"),
        ("half<<<4, 32>>>(1e9:f16, 1)", "WF822: argument 0 .*got the float 1000000000.0\n", "1e9"),
        ("scale<<<4, 32>>>(0, 0, 1e300, 4)", r"WF822: argument 2 .*.f32 of 4 bytes, got the float 1e\+300", "1e300"),
        (f"scale<<<4, 32>>>(0, 0, {10**400}, 4)", "WF822: argument 2 .*integer 10000000... of 401 digits", "10000"),
        ("scale<<<4, 32>>>(f32[4]=1e39, 0, 1.0, 4)", r"WF825: .*cannot be made: f32 has no value 1e\+39", "f32"),
        (f"scale<<<4, 32>>>(f64[4]={10**400}, 0, 1.0, 4)", "WF825: .*f64 has no value 1000.* of 401 digits", "f64"),
        ("scale<<<4, 32>>>(bool[4]=2, 0, 1.0, 4)", "WF825: .*bool has no value 2", "bool"),
        (f"scale<<<4, 32>>>(f32[1{64 * 'x1'}], 0, 1.0, 4)", "WF825: .*it has 65 dims, and may have 64", "f32"),
        ("scale<<<(1, 70000), 32>>>(0, 0, 1.0, 4)", "WF708: .*expected a grid of at most .*65535.*70000", None),
        (f"scale<<<{10**20}, 32>>>(0, 0, 1.0, 4)", "WF708: .*expected a grid of at most .2147483647, ", None),
        ("scale<<<1, (1, 1, 128)>>>(0, 0, 1.0, 4)", "WF708: .*expected a block of at most .1024, 1024, 64.", None),
        ("scale<<<4, 32>>>(0, 0)", r"WF823: kernel 'scale' takes 4 argument\(s\), got 2", ")"),
        ("scale<<<4, 32>>>(0, 0, 1.0, 4, 5)", r"WF823: .*got 5", "5)"),
        ("scale<<<4, 32>>>(x, 0, 1.0, 4)", "WF824: there is no array 'x': none has a name so far", "x,"),
        ("scale<<<4, 32>>>(x:f32[4], x:f32[4], 1.0, 4)", "WF824: there is an array 'x' already", "x:f32[4], 1"),
        ("scale<<<4, 32>>>(u8[4]=256, 0, 1.0, 4)", "WF825: the array cannot be made: u8 has no value 256", "u8"),
        ("scale<<<4, 32>>>(f32[9999999x9999999], 0, 1.0, 4)", "WF825: .*bytes, this machine has", "f32"),
        (f"scale<<<4, 32>>>(f32[0x{2**63}], 0, 1.0, 4)", "WF825: .*bytes, this machine has", f"f32[0x{2**63}]"),
        ("scale<<<4, 32>>>(f32[4]=no.npy, 0, 1.0, 4)", "WF506: cannot read no.npy", None),
        ("scale<<<4, 2048>>>(0, 0, 1.0, 4)", "WF708: .*expected at most 1024 threads, got 2048", None),
        ("scale<<<4, 32, 999999>>>(0, 0, 1.0, 4)", "WF709: .*0 static and 999999 dynamic", None),
        ("scale<<<4, 32>>>(x:f32[64], f32[128]=0, 1.0, 128)", "WF710: .* 4 bytes read .* 'x' of 256 bytes", None),
        ("spin<<<1, 32>>>()", "WF716: no end after 99 steps", None),
    ],
)  # fmt: skip
def test_an_error_in_a_launch_has_its_place(
    program: str, launch: str, said: str, under: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = _warpfold("profile", program, "--launch", launch, "--max-steps", "99")
    assert found.exit_code == 2
    assert "Traceback" not in found.output
    with pytest.raises(WarpfoldError, match=said) as caught:
        watch(Work(Request(program), (launch,), 99), None)
    assert caught.value.message.splitlines()[0] in found.stderr
    if under is not None:
        _, quoted, mark = caught.value.message.splitlines()
        assert quoted[mark.index("^") :].startswith(under)


@pytest.mark.parametrize(
    ("number", "bits"), [("1.5:f16", 0x3E00), ("1.5:bf16", 0x3FC0), ("7", 7), ("hex:0180", 0x8001)]
)
def test_numbers_and_structures_are_passed_as_written(program: str, number: str, bits: int) -> None:
    found = watch(Work(Request(program), (f"show<<<1, 1>>>(u32[2]=0, {number}, hex:0000000004030201)",)), None)
    assert found.arrays["argument 0"].tolist() == [bits, 0x01020304]


def test_an_operation_accesses_the_same_number_of_sectors_each_time() -> None:
    """Results begin at boundaries of 256 bytes; NumPy's own begin at any of 16."""
    for n in range(60, 70):
        found = watch(Work(Request("argmax", shape=f"{n}x16", axis_text="1")), None)
        assert found.arrays["result 0"].ctypes.data % 256 == 0


def test_a_file_of_another_type_or_shape_is_refused(program: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.int64))
    launch = f"scale<<<1, 32>>>(f32[6]={tmp_path / 'x.npy'}, 0, 1.0, 0)"
    with pytest.raises(WarpfoldError, match=r"WF825: .*x.npy has int64 elements of shape \(2, 3\)"):
        watch(Work(Request(program), (launch,)), None)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("profile", "nowhere.ptx", "--launch", "k<<<1, 1>>>()"), "WF506: cannot read nowhere.ptx"),
        (("profile", "nowhere.ptx"), "WF506: cannot read nowhere.ptx: No such file"),
        (("profile", "PROGRAM"), "WF827: .* is a program, and no --launch says how to run it"),
        (("profile", "PROGRAM", "--shape", "3", "--launch", "k"), "WF827: .* is a program, and takes no --shape"),
        (("profile", "sum", "--launch", "k<<<1, 1>>>()"), "WF827: --launch is for a program, and sum is none"),
        (("run", "PROGRAM", "--launch", "scale<<<1, 1>>>(0, 0, 1, 0)", "--device", "cuda"), "WF827: .*not run on cuda"),
        (
            ("run", "PROGRAM", "--launch", "scale<<<1, 1>>>(0, 0, 1, 0)", "--output", "x=x.npy"),
            "WF828: .*no array has a name",
        ),
        (("profile", "BINARY", "--launch", "k<<<1, 1>>>()"), "WF826: .* is not PTX: it is no text in UTF-8"),
        (("profile", "EMPTY", "--launch", "k<<<1, 1>>>()"), "WF829: .* has no kernel to launch"),
        (("profile", "BROKEN", "--launch", "k<<<1, 1>>>()"), "WF701: PTX line 1"),
    ],
)
def test_errors_in_the_request(
    words: tuple[str, ...], said: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.ptx").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "c.ptx").write_text("int main() {}")
    (tmp_path / "d.ptx").write_text(PTX.partition(".visible")[0])
    paths = {"PROGRAM": program, "BINARY": "b.ptx", "BROKEN": "c.ptx", "EMPTY": "d.ptx"}
    found = _warpfold(*(paths.get(w, w) for w in words))
    assert found.exit_code == 2
    assert re.search(said, found.stderr), found.stderr
    assert not (tmp_path / "x.npy").exists()


def test_run_prints_and_writes_the_arrays_of_a_program(program: str, tmp_path: Path) -> None:
    launch = "scale<<<1, 32>>>(f32[4]=arange, y:f32[4]=uninit, 2.0, 4)"
    found = _warpfold("run", program, "--launch", launch, "--output", f"y={tmp_path / 'y.npy'}")
    assert (found.exit_code, "[0. 2. 4. 6.]" in found.stdout) == (0, True)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), [0, 2, 4, 6])
    plain = json.loads(_warpfold("run", program, "--launch", launch, "--json").stdout)
    assert plain["arrays"][1] == {"name": "y", "dtype": "f32", "shape": [4], "value": [0, 2, 4, 6]}


def test_profile_prints_counters_ideals_and_names(program: str) -> None:
    launch = "scale<<<4, 32>>>(x:f32[128], f32[128]=uninit, 2.0, 128)"
    shown = _warpfold(
        "profile", program, "--launch", launch, "--launch", launch.replace("x:f32[128]", "x"), "--names", "--lines"
    )
    assert shown.exit_code == 0, shown.stderr
    assert "scale <<<4x1x1, 32x1x1>>>" in shown.stdout
    assert "all launches" in shown.stdout
    assert "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum" in shown.stdout
    assert "ld.global.f32 f1, [d2];" in shown.stdout
    plain = json.loads(_warpfold("profile", program, "--launch", launch, "--json").stdout)
    assert plain["elements"] == 128
    assert plain["total"]["memory"]["global load"]["sectors"] == 16
    metrics = plain["total"]["metrics"]
    (used,) = [m for m in metrics if m["name"] == "bytes used" and m["nsight_compute"].endswith("ld.pct")]
    assert (used["count"], used["ideal"]) == (1, 1)


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (["sum", "--shape", "4096"], ["bra", "ld.global", "st.shared", "ld.shared"]),
        (["max", "--shape", "2048", "--dtype", "i32"], ["bra", "ld.global", "st.shared", "ld.shared"]),
        (["sum", "--shape", "64x64", "--axis", "1"], ["bra", "ld.global", "st.global"]),
    ],
    ids=lambda v: " ".join(v),
)
def test_the_most_expensive_lines_come_first_and_loads_before_others(words: list[str], first: list[str]) -> None:
    shown = _warpfold("profile", *words, "--lines").stdout
    lines = shown[shown.index("PTX line") :].splitlines()[1:]
    found = [re.sub(r"^@!?%p\d+ ", "", line.split(None, 7)[7]) for line in lines]
    names = [".".join(text.split()[0].split(".")[: 1 if text.startswith("bra") else 2]) for text in found]
    assert [name for k, name in enumerate(names) if name not in names[:k]][: len(first)] == first
    assert not any("param" in text for text in found)
    assert shown == _warpfold("profile", *words, "--lines").stdout


def test_the_profile_of_an_operation_counts_the_bytes_of_its_arrays() -> None:
    plain = json.loads(_warpfold("profile", "sum", "--shape", "64x4096", "--axis", "1", "--json").stdout)
    moved = next(m for m in plain["total"]["metrics"] if m["name"] == "global bytes moved")
    assert moved["ideal"] == 4 * 64 * 4096 + 4 * 64
    assert moved["count"] >= moved["ideal"]
    assert plain["total"]["memory"]["global load"]["used"] == 1
