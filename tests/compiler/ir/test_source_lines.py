"""Source lines in our PTX: which lines, whose where kernels are shared, and their cost."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from covering import some

from warpfold.compiler.driver.compile import compile_program
from warpfold.compiler.errors import Location
from warpfold.compiler.ir.source_lines import filled_in, places, with_numbers
from warpfold.compiler.plan.kernels import kernels
from warpfold.compiler.program.library import monoids
from warpfold.passes import steps
from warpfold.runtime import cache
from warpfold.runtime.api import compile as compile_
from warpfold.runtime.api import plan_for
from warpfold.runtime.prepare import artifact, cached
from warpfold.runtime.ptxas import assemble, find_ptxas
from warpfold.runtime.tuning.trials import Trials

PROGRAM = """\
import warpfold as wf

def rms(x):
    y = x * x  # square
    total = wf.fold(wf.SUM, y)  # fold
    mean = total / wf.count("f32")  # mean
    return wf.sqrt(mean)  # root
"""
MONOID = """\
import warpfold as wf

@wf.monoid(
    identity=(0.0, 0.0),
    lift=lambda x: (x, x * x),  # lift
    finish=lambda s, q: wf.sqrt(s) - q,  # finish
)
def two(a, b):
    s = a[0] + b[0]  # first
    q = a[1] + b[1]  # second
    return s, q
"""
CODE = re.compile(r"^\t(?!\.loc|\.file|\.param|\.reg|//)\S.*", re.MULTILINE)


def module(folder: Path, name: str, text: str) -> ModuleType:
    """``text`` as a module of its own file."""
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def of_lines(ptx: str) -> dict[tuple[str, int], list[str]]:
    """The instructions of each (file, line)."""
    files = {int(n): name for n, name in re.findall(r'^\t\.file\t(\d+) "(.*)"$', ptx, re.MULTILINE)}
    found: dict[tuple[str, int], list[str]] = {}
    at = ("", 0)
    for text in ptx.splitlines():
        if match := re.match(r"\t\.loc\t(\d+) (\d+) 0$", text):
            at = files[int(match[1])], int(match[2])
        elif CODE.match(text):
            found.setdefault(at, []).append(text.strip())
    return found


def at(found: dict[tuple[str, int], list[str]], path: str, text: str, mark: str) -> str:
    """The instructions of the line of ``text`` that holds ``mark``."""
    line = next(n for n, row in enumerate(text.splitlines(), 1) if mark in row)
    return "\n".join(found.get((path, line), []))


def without_lines(ptx: str) -> str:
    return re.sub(r"^\t\.(loc|file)\t.*\n", "", ptx, flags=re.MULTILINE)


def test_instructions_of_a_program_have_the_lines_of_its_source(tmp_path: Path) -> None:
    made = module(tmp_path, "mine", PROGRAM)
    path = str(tmp_path / "mine.py")
    found = of_lines(compile_(made.rms, (64, 4096), axis=1).ptx)
    assert "mul.rn.f32" in at(found, path, PROGRAM, "# square")
    for mark in ("ld.global", "shfl.sync", "st.shared", "bar.sync"):  # how we fold is at the line that folds
        assert mark in at(found, path, PROGRAM, "# fold")
    assert "div.rn.f32" in at(found, path, PROGRAM, "# mean")
    assert "sqrt.rn.f32" in at(found, path, PROGRAM, "# root")
    assert "st.global" in at(found, path, PROGRAM, "def rms")
    library = [rows for (file, _), rows in found.items() if file.endswith("monoids.py")]
    assert all(row.split(".")[0] in ("add", "mov") for rows in library for row in rows)  # SUM's own


def test_instructions_of_a_monoid_have_its_lines(tmp_path: Path) -> None:
    made = module(tmp_path, "mine", MONOID)
    path = str(tmp_path / "mine.py")
    found = of_lines(compile_(made.two, (1 << 20,), plan="finish=two_kernels").ptx)
    assert {file for file, _ in found} == {path}
    assert "mul.rn.f32" in at(found, path, MONOID, "# lift")
    assert "add.rn.f32" in at(found, path, MONOID, "# first")
    assert "add.rn.f32" in at(found, path, MONOID, "# second")
    assert "sqrt.rn.f32" in at(found, path, MONOID, "# finish")
    assert all(line for _, line in found)


@pytest.mark.parametrize("what", ["sum", "var", "argmax", "logsumexp", "describe"])
@pytest.mark.parametrize("plan", ["", "finish=two_kernels"])
def test_every_instruction_of_a_built_in_has_a_line_of_the_library(what: str, plan: str) -> None:
    found = of_lines(compile_(what, (1 << 20,), plan=plan).ptx)
    assert all(Path(file).parent.name == "library" and line > 0 for file, line in found), set(found)


def test_programs_that_share_a_kernel_each_show_their_own_lines(tmp_path: Path) -> None:
    """Two files, and one that was edited, share one entry of the cache, in memory and on disk."""
    texts = {"one": PROGRAM, "two": "\n" * 5 + PROGRAM, "three": PROGRAM.replace("    mean = ", "\n\n    mean = ")}
    keys = set()
    for name, text in texts.items():
        ready = plan_for(module(tmp_path, name, text).rms, (64, 4096), axis=1)
        keys.add(ready.key)
        for _ in range(2):
            found = of_lines(artifact(ready).ptx)
            assert "div.rn.f32" in at(found, str(tmp_path / f"{name}.py"), text, "# mean")
            assert {Path(file).name for file, _ in found} == {f"{name}.py", "monoids.py"}
            cache.clear_memory()
    assert len(keys) == 1
    kept = cached(ready)
    assert kept is not None
    assert str(tmp_path) not in kept.ptx


def test_lines_are_filled_in_once_for_one_request() -> None:
    ready = plan_for("sum", (64, 4096), axis=1)
    assert artifact(ready) is artifact(ready)


@pytest.mark.parametrize("plan", ["", "finish=two_kernels", "simple"])
@pytest.mark.parametrize("what", ["sum", "describe", "argmax"])
def test_lines_change_no_instruction(what: str, plan: str) -> None:
    """Without the lines the code is what the same steps give without debug information."""
    ready = plan_for(what, (1 << 20,), plan=plan)
    task, lowering = (ready.program, ready.choice.facts, ready.choice.plan), steps(ready.target)
    plain = [(n, re.sub(r"ensure-debug-info[^,]*,", "", s) if isinstance(s, str) else s) for n, s in lowering]
    assert plain != lowering
    with_, without = (compile_program(*task, ready.target, s).ptx for s in (lowering, plain))
    assert "\t.loc\t" in with_
    assert "\t.loc\t" not in without
    assert without_lines(with_) == without_lines(without)


def test_every_line_number_belongs_to_a_place() -> None:
    ready = plan_for("describe", (1 << 20,), plan="finish=two_kernels")
    task = ready.program, ready.choice.facts, ready.choice.plan
    numbers = re.findall(r"\t\.loc\t1 (\d+) 0\n", compile_program(*task, ready.target, steps(ready.target)).ptx)
    known = places(k for _, k in kernels(*task))
    assert numbers
    assert all(int(n) < len(known) for n in numbers)
    assert None not in known


def test_an_unknown_line_number_stands_for_the_kernel() -> None:
    """LLVM cuts columns to 16 bits, and a file of the cache may hold any number."""
    ptx = with_numbers("\t.loc\t1 7 3\n\tret;\n\t.loc\t1 7 1\n\tret;\n\t.loc\t1 0 0\n\tret;\n")
    text = filled_in(ptx, [Location("a.py", 9)])
    assert text == '\t.loc\t1 9 0\n\tret;\n\tret;\n\tret;\n\t.file\t1 "a.py"\n'
    assert filled_in(ptx, []) == filled_in(ptx, [None]) == "\tret;\n\tret;\n\tret;\n"


@pytest.mark.parametrize("number", ["999999", "9" * 5000])
def test_a_number_of_any_length_is_read(number: str) -> None:
    """A file of the cache may hold anything."""
    found = filled_in(with_numbers(f"\t.loc\t1 7 {number}\n\tret;\n"), [Location("a.py", 9)])
    assert "\tret;\n" in found


def test_kernels_of_trials_have_the_lines_of_the_call(tmp_path: Path) -> None:
    """The backend keeps the kernels of the autotuner's trials for later calls."""
    ready = plan_for(module(tmp_path, "mine", PROGRAM).rms, (64, 4096), axis=1)
    arrays: Any = SimpleNamespace(backend=None)
    whole: Any = SimpleNamespace(steps=[SimpleNamespace(prepared=ready)])
    assert Trials(whole, arrays)._compiled(ready.choice).ptx == artifact(ready).ptx


def test_debug_sections_are_removed() -> None:
    text = '$L__func_begin0:\n$L__tmp12:\n\tret;\n$L__func_end0:\n\t.section\t.debug_macinfo\t{\t}\n\t.file\t1 "x"\n'
    assert filled_in(with_numbers(text), []) == "\tret;\n"


@pytest.mark.parametrize("name", some(["mine", "with space", 'a "quoted" one', "back\\slash", "größe", "new\nline"], 3))
def test_machine_code_has_the_lines_of_any_file(tmp_path: Path, name: str) -> None:
    """File names beyond ASCII are escaped in octal; ptxas accepts the escapes, and disassemblers print them."""
    compiled = compile_(module(tmp_path, name, PROGRAM).rms, (64, 4096), axis=1)
    cubin = tmp_path / "made.cubin"
    cubin.write_bytes(assemble(compiled.ptx, "sm_90a").cubin)
    tool = find_ptxas()
    assert tool is not None
    command = [str(tool.with_name("nvdisasm")), "--print-line-info", str(cubin)]
    shown = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout.decode()
    found = {(file, int(line)) for file, line in re.findall(r'//## File "(.*)", line (\d+)', shown)}
    mine = {line for file, line in found if not file.endswith("monoids.py")}
    assert mine >= {4, 5, 6}
    if re.fullmatch("[a-z ]+", name):
        assert {file for file, _ in found} == {str(tmp_path / f"{name}.py"), monoids.__file__}
