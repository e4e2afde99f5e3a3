"""Source lines in PTX of nvcc, Triton and warpfold, which findings, profiles and errors show beside the PTX line."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from emulator_harness import aligned

from warpfold.cli import cli
from warpfold.compiler.errors import WarpfoldError
from warpfold.runtime import emulator
from warpfold.runtime.emulator.ptx.origins import DEEPEST, Origins

DATA = Path(__file__).parent / "data" / "origins"
SUM = "tools::block_sum<float, 128>(float const*, float*, int)"
LAUNCH = "block_sum<float<<<1, 128>>>(f32[100]=1, out:f32[1]=uninit, 100)"
PROGRAM = """\
import warpfold as wf

def energy(x):
    squares = x * x
    return wf.fold(wf.SUM, squares)
"""


@pytest.fixture(autouse=True)
def _beside_the_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """The committed PTX has no folders in its names."""
    monkeypatch.chdir(DATA)


def line(file: str, mark: str) -> int:
    """The number of the source line that contains ``mark``."""
    return next(n for n, text in enumerate((DATA / file).read_text().splitlines(), 1) if mark in text)


def shown(file: str, pattern: str, kernel: str = "") -> set[str]:
    """The origins of the instructions of a PTX file that match, of one kernel or all, without folders."""
    text = (DATA / file).read_text()
    origins, inside, found = Origins(text.split("\n")), not kernel, set()
    for number, row in enumerate(text.split("\n"), 1):
        if ".entry" in row:
            inside = kernel in row
        if inside and re.match(rf"\s+(@!?%p\d+\s+)?{pattern}", row):
            found.add(str(origins.at(number)))
    return found


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


# --- what compilers write ------------------------------------------------------------------------------------------
def test_lines_of_cuda_are_shown_with_the_functions_that_are_inlined() -> None:
    add, call = line("lines.cu", "return a + b"), line("lines.cu", "return plus")
    loop = line("lines.cu", "= both(")
    text = (DATA / "lines.cu").read_text().splitlines()[loop - 1].strip()
    for t, kernel, add_type in (
        ("float", "IfLi128", "add.f32"),
        ("unsigned int", "IjLi64", "add.s32 \t%r\\d+, %r\\d+, %r"),
    ):
        added = {s for s in shown("lines.ptx", add_type, kernel) if "inlined" in s}
        inner = f"tools::plus<{t}>({t}, {t}) at lines.cu:{add}: return a + b;, called at lines.cu:{call}"
        assert added == {f"lines.cu:{loop}: {text} (inlined: {inner})"}
    loads = f"lines.cu:{line('lines.cu', 'x[mine]')}: states.cells[mine] = mine < n ? x[mine] : T(0);"
    assert shown("lines.ptx", "ld.global", "IfLi128") == {loads}
    barriers = {int(s.split(":")[1]) for s in shown("lines.ptx", "bar.sync")}
    assert barriers == {n for n, s in enumerate((DATA / "lines.cu").read_text().splitlines(), 1) if "__sync" in s}


def test_lines_of_triton_are_shown_with_the_calls_around_them() -> None:
    def at(mark: str) -> int:
        return line("rows.py", mark)

    load = "values = tl.load(x + row * columns + at, mask=inside, other=0.0)"
    assert shown("rows.ptx", "ld.global") == {f"rows.py:{at('tl.load')}: {load}"}
    stores = {int(s.split(":")[1]) for s in shown("rows.ptx", "st.global")}
    assert stores == {at("tl.store(sums"), at("tl.store(shares")}
    (added,) = shown("rows.ptx", "add.f32")
    user = re.escape(f"rows.py:{at('total(values)')}: whole = total(values)")
    inner = rf"standard\.py:\d+, called at standard\.py:\d+, rows\.py:{at('return tl.sum')}"
    assert re.fullmatch(rf"{user} \(inlined: {inner}\)", added)


def test_the_kernel_of_triton_runs() -> None:
    """Its PTX is the compiler's own, with a block of rows of 1000 in 1024."""
    module, memory = emulator.parse((DATA / "rows.ptx").read_text()), emulator.Memory()
    x = np.random.default_rng(1).uniform(1, 2, (4, 1000)).astype(np.float32)
    held = [aligned(n * 4).view(np.float32) for n in (x.size, 4, x.size)]
    held[0][:] = x.reshape(-1)
    args = [memory.bind(h.view(np.uint8)) for h in held]
    emulator.launch(module, "row_share", (4, 1, 1), (128, 1, 1), [*args, 1000, 0, 0], memory, shared_bytes=16)
    sums = x.astype(np.float64).sum(axis=1)
    np.testing.assert_allclose(held[1], sums, rtol=1e-6)
    np.testing.assert_allclose(held[2].reshape(x.shape), x / sums[:, None], rtol=1e-6)


# --- who shows them ------------------------------------------------------------------------------------------------
def test_findings_show_lines_of_cuda_and_names_of_cpp() -> None:
    found = run("sanitize", "lines_race.ptx", "--launch", LAUNCH)
    assert found.exit_code == 1
    loop = line("lines.cu", "= both(")
    assert f"source  lines.cu:{loop}: states.cells[mine] = both(states.cells + mine, by);" in found.output
    assert f"at      {SUM}::states[" in found.output
    report = json.loads(run("sanitize", "lines_race.ptx", "--launch", LAUNCH, "--json").stdout)
    sources = [place["source"] for f in report["findings"] for place in f["threads"]]
    assert {s["line"] for s in sources} <= {loop, line("lines.cu", "return plus"), line("lines.cu", "*out =")}
    assert {s["file"] for s in sources} == {"lines.cu"}
    assert run("sanitize", "lines.ptx", "--launch", LAUNCH).exit_code == 0


@pytest.mark.parametrize("wanted", ["elements", "shared"])
def test_errors_show_lines_of_cuda_and_names_of_cpp(wanted: str) -> None:
    """A read beyond the array, and a store beyond the tile in a kernel for fewer threads."""
    n, kernel, threads = (90, "float, 128", 128) if wanted == "elements" else (128, "unsigned", 128)
    launch = f"tools::block_sum<{kernel}<<<1, {threads}>>>(u32[{n}], out:u32[1]=uninit, 100)"
    found = run("run", "lines.ptx", "--launch", launch)
    assert found.exit_code == 2
    assert f"\n  at lines.cu:{line('lines.cu', 'x[mine]')}: states.cells[mine] = " in found.output
    assert re.search(r"kernel 'tools::block_sum<.*>\(.*\)', PTX line \d+", found.output)
    if wanted == "shared":
        assert (
            "nearest variable 'tools::block_sum<unsigned int, 64>(unsigned int const*, unsigned int*, int)::states'"
            in (found.output)
        )


@pytest.mark.parametrize(
    ("instruction", "code"), [("ld.globe.f32", "WF703"), ("lod.global.f32", "WF702"), ("ld.global.f32 %f1 =", "WF701")]
)
def test_an_invalid_instruction_is_shown_with_its_line(instruction: str, code: str, tmp_path: Path) -> None:
    bad = re.sub(r"ld\.global\.nc\.f32", instruction, (DATA / "lines.ptx").read_text(), count=1)
    (tmp_path / "bad.ptx").write_text(bad)
    found = run("run", str(tmp_path / "bad.ptx"), "--launch", LAUNCH)
    assert found.exit_code == 2
    assert found.output.startswith(f"{code}: PTX line ")
    assert f"\n  at lines.cu:{line('lines.cu', 'x[mine]')}: states.cells[mine] = " in found.output


def test_findings_of_a_fault_that_ends_a_launch_show_lines() -> None:
    found = run("sanitize", "lines.ptx", "--launch", "block_sum<float<<<1, 128>>>(f32[90], out:f32[1]=uninit, 100)")
    assert found.exit_code == 1
    assert "1. out-of-bounds" in found.output
    assert f"source  lines.cu:{line('lines.cu', 'x[mine]')}: " in found.output


def test_profiles_show_lines() -> None:
    found = run("profile", "lines.ptx", "--launch", LAUNCH, "--lines")
    assert found.exit_code == 0
    assert f"{SUM} <<<1x1x1, 128x1x1>>>" in found.output
    (heading,) = [row for row in found.output.splitlines() if row.startswith("PTX line")]
    assert heading.split()[-1] == "source"
    assert f" lines.cu:{line('lines.cu', 'if (mine < by)')}: if (mine < by)" in found.output
    report = json.loads(run("profile", "lines.ptx", "--launch", LAUNCH, "--json").stdout)
    rows = report["launches"][0]["lines"].values()
    assert {row["source"]["file"] for row in rows} == {"lines.cu"}
    (load,) = [row["source"] for row in rows if row["text"].startswith("ld.global")]
    where = line("lines.cu", "x[mine]")
    assert load == {"file": "lines.cu", "line": where, "text": "states.cells[mine] = mine < n ? x[mine] : T(0);"}


def test_profiles_without_lines_have_no_such_column(tmp_path: Path) -> None:
    bare = re.sub(r"^\t\.loc.*\n", "", (DATA / "lines.ptx").read_text(), flags=re.MULTILINE)
    (tmp_path / "bare.ptx").write_text(bare)
    found = run("profile", str(tmp_path / "bare.ptx"), "--launch", LAUNCH, "--lines")
    assert found.exit_code == 0
    (heading,) = [row for row in found.output.splitlines() if row.startswith("PTX line")]
    assert heading.split()[-1] == "instruction"


def test_our_own_kernels_show_lines_of_python(tmp_path: Path) -> None:
    """Profiled unchanged, and sanitized as a program file with their barriers removed."""
    user = tmp_path / "user.py"
    user.write_text(PROGRAM)
    found = run("profile", f"{user}:energy", "--shape", "16x4096", "--axis", "1", "--lines")
    assert "user.py:5: return wf.fold(wf.SUM, squares)" in found.output
    report = json.loads(run("profile", f"{user}:energy", "--shape", "16x4096", "--axis", "1", "--json").stdout)
    lines: dict[int, set[str]] = {}
    for row in report["launches"][0]["lines"].values():
        if row["source"]["file"] == str(user):
            lines.setdefault(row["source"]["line"], set()).add(row["text"].split()[0])
    assert lines[4] == {"mul.rn.f32"}
    assert lines[5] >= {"ld.global.nc.v4.b32", "shfl.sync.bfly.b32", "bar.sync", "st.shared.b32"}
    assert "st.global.b32" in lines[3]
    ptx = run("compile", f"{user}:energy", "--shape", "16x4096", "--axis", "1", "--arch", "sm_90a").stdout
    (tmp_path / "bad.ptx").write_text(re.sub(r"^\tbar\.sync.*\n", "", ptx, flags=re.MULTILINE))
    threads = re.search(r"\.maxntid (\d+)", ptx)[1]  # type: ignore[index]
    numbers = "16, 4096, 4096, 4096, 4096, 1, 1"[: ptx.count(".param .u32") * 6 - 2]
    launch = f"energy<<<16, {threads}>>>(f32[65536], f32[16]=uninit, {numbers})"
    found = run("sanitize", str(tmp_path / "bad.ptx"), "--launch", launch)
    assert "shared-race" in found.output
    assert f"source  {user}:5: return wf.fold(wf.SUM, squares)" in found.output


def test_an_error_of_our_own_kernel_is_at_a_line_of_python(tmp_path: Path) -> None:
    user = tmp_path / "user.py"
    user.write_text(PROGRAM)
    ptx = run("compile", f"{user}:energy", "--shape", "16x4096", "--axis", "1").stdout
    module, memory = emulator.parse(ptx), emulator.Memory()
    params = len(module.functions["energy"].params)
    threads = module.functions["energy"].limits["maxntid"]
    with pytest.raises(WarpfoldError, match="WF713") as caught:
        emulator.launch(module, "energy", (1, 1, 1), threads, [0, 0, *[1] * (params - 2)], memory)  # type: ignore[arg-type]
    assert caught.value.location is not None
    assert (caught.value.location.file, caught.value.location.line) == (str(user), 5)
    assert "user.py:5: return wf.fold(wf.SUM, squares)" in str(caught.value)


# --- names of kernels ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name",
    ["_ZN5tools9block_sumIfLi128EEEvPKT_PS1_i", SUM, SUM.replace(" ", ""), "tools::block_sum<float, 128>",
     "tools::block_sum<f", "block_sum<float", "block_sum<float, 128>"],
)  # fmt: skip
def test_kernels_are_called_as_cpp_spells_them(name: str) -> None:
    found = run("run", "lines.ptx", "--launch", LAUNCH.replace("block_sum<float", name))
    assert found.exit_code == 0, found.output
    assert "[100.]" in found.output


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tools::block_sum", "WF821: several kernels are called 'tools::block_sum': .* has tools.*; tools"),
        (
            "block_sum<double",
            "WF821: no kernel is called 'block_sum<double': .* has tools::block_sum<float, 128>.*; to",
        ),
        ("lock_sum<float", "WF821: no kernel is called"),
        ("", "WF821: the launch names no kernel: .* has tools::block_sum<float, 128>"),
    ],
)
def test_an_unknown_or_ambiguous_kernel_name_is_refused(name: str, said: str) -> None:
    found = run("run", "lines.ptx", "--launch", LAUNCH.replace("block_sum<float", name))
    assert found.exit_code == 2
    assert re.search(said, found.output), found.output


def test_parameters_are_named_without_their_kernel() -> None:
    found = run("run", "lines.ptx", "--launch", "block_sum<float<<<1, 128>>>(f32[100], 100)")
    assert f"WF823: kernel {SUM!r} takes 3 argument(s), got 2" in found.output
    assert "(.u64 param_0, .u64 param_1, .u32 param_2)" in found.output


# --- texts that nobody should trust ----------------------------------------------------------------------------------
def origin(*rows: str, files: tuple[str, ...] = ("here.cu",)) -> str:
    """The origin of the last of ``rows``."""
    names = [f'.file {n} "{name}"' for n, name in enumerate(files, 1)]
    return str(Origins([*rows, *names]).at(len(rows)))


def test_a_line_holds_until_the_next_one_or_the_end_of_the_function() -> None:
    assert origin(".loc 1 7 3", "ret;") == "here.cu:7"
    assert origin(".loc 1 7 3", "ret;", ".loc 1 9 1", "ret;") == "here.cu:9"
    assert origin(".loc 1 7 3", "ret;", ".visible .entry other(", "ret;") == "None"
    assert origin("ret;") == "None"


@pytest.mark.parametrize(
    "row",
    [".loc", ".loc 1", ".loc 1 2", ".loc 2 7 0", ".loc 1 0 0", f".loc 1 {'9' * 5000} 0", ".loc x y z", "// .loc 1 7 3",
     ".loc 1 7 3, inlined_at 1 2 3", ".loc -1 7 3"],
)  # fmt: skip
def test_invalid_line_directives_name_no_line(row: str) -> None:
    assert origin(row, "ret;") == "None"


def test_functions_that_inline_each_other_do_not_hang() -> None:
    rows = [".loc 1 7 3, function_name $L__info_string0, inlined_at 1 7 3"] * 50_000
    start = time.perf_counter()
    found = origin(*rows)
    assert time.perf_counter() - start < 5
    assert found == f"here.cu:7: (inlined: here.cu:7, called at {', '.join(['here.cu:7'] * DEEPEST)})"


def test_names_of_functions_are_strings_with_offsets() -> None:
    strings = [".section .debug_str", "{", "names:", ".b8 97,0", ".b8 95,90,49,98,118,0", "}"]
    rows = [".loc 1 7 3, function_name names+2, inlined_at 1 9 1", "ret;"]
    assert str(Origins([*rows, '.file 1 "here.cu"', *strings]).at(2)) == "here.cu:9: (inlined: b() at here.cu:7)"
    rows[0] = rows[0].replace("names+2", "nobody")
    assert str(Origins([*rows, '.file 1 "here.cu"', *strings]).at(2)) == "here.cu:9: (inlined: here.cu:7)"


def test_names_of_files_are_read_as_ptx_spells_them(tmp_path: Path) -> None:
    (tmp_path / "größe.cu").write_text("\nhere\n")
    spelled = "".join(
        c if c.isascii() else "".join(f"\\{b:03o}" for b in c.encode()) for c in str(tmp_path / "größe.cu")
    )
    assert origin(".loc 1 2 0", "ret;", files=(spelled,)) == f"{tmp_path / 'größe.cu'}:2: here"
    assert origin(".loc 1 2 0", "ret;", files=(f"{tmp_path}/x/../größe.cu",)).endswith("größe.cu:2: here")


def test_special_files_are_not_read_as_sources(tmp_path: Path) -> None:
    """A pipe would block, and a device never ends."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00\n\xff")
    with (tmp_path / "huge").open("wb") as f:
        f.truncate(1 << 30)
    for name in ("pipe", "bytes", "huge", "nowhere", "", "."):
        path = tmp_path / name
        assert origin(".loc 1 1 0", "ret;", files=(str(path),)) == f"{path}:1"
    for file in ("/dev/zero", "/dev/stdin", "a\x00b"):
        assert origin(".loc 1 1 0", "ret;", files=(file,)) == f"{file}:1"
