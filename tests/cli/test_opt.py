"""``warpfold-opt``: pipelines that mix our passes with upstream's, diagnostics, files. Runs in process."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from warpfold import opt
from warpfold.compiler.driver.pipeline import Pass
from warpfold.compiler.driver.textual_pipeline import split
from warpfold.compiler.errors import Location, WarpfoldError, error
from warpfold.compiler.ir.expected_diagnostics import Diagnostic, expectations, mismatches

if TYPE_CHECKING:
    from pathlib import Path

FOLDABLE = """\
func.func @f(%a: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %sum = arith.addi %a, %zero : i32
  return %sum : i32
}
"""
WRONG = """\
func.func @f(%a: i32) -> i64 {
  return %a : i32
}
"""


def _tag(op: Any) -> None:
    """A pass of ours that leaves a trace in the IR."""
    from warpfold.compiler.ir.mlir import ir

    op.attributes["sym_name"] = ir.StringAttr.get("tagged", op.context)


def _fail(op: Any) -> None:
    """A pass of ours that fails at the module's first operation."""
    from warpfold.compiler.ir.locations import position

    place = position(op.regions[0].blocks[0].operations[0].location)
    assert place is not None
    raise error("WF893", name="x", anchor="y", where=Location(place.file, place.line))


def _say(op: Any) -> None:
    """A pass of ours that fails through MLIR's own diagnostics."""
    op.regions[0].blocks[0].operations[0].location.emit_error("said by a pass")
    raise error("WF893", name="x", anchor="y")


@pytest.fixture(autouse=True)
def _stand_in_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = (
        Pass(name="tag-module", run=_tag, eliminates=(), summary="marks the module"),
        Pass(name="fail-always", run=_fail, eliminates=(), summary="fails"),
        Pass(name="leave-some", run=_tag, eliminates=("arith.addi",), summary="promises too much"),
        Pass(name="say-error", run=_say, eliminates=(), summary="fails through MLIR"),
    )
    monkeypatch.setattr(opt, "PASSES", passes)


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def put(text: str) -> str:
        path = tmp_path / "input.mlir"
        path.write_text(text)
        return str(path)

    return put


def test_without_a_pipeline_the_input_comes_back(write: Any, capfd: Any) -> None:
    assert opt.main([write(FOLDABLE)]) == 0
    assert "arith.addi" in capfd.readouterr().out


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(FOLDABLE))
    assert opt.main(["-", "--pass-pipeline=canonicalize"]) == 0
    assert "arith.addi" not in capfd.readouterr().out


@pytest.mark.parametrize(
    "pipeline",
    [
        "builtin.module(tag-module,canonicalize)",
        "any(func.func(canonicalize,cse),tag-module)",
        "tag-module, canonicalize{max-iterations=3 top-down=true}",
        " builtin.module( canonicalize , tag-module ) ",
    ],
)
def test_our_passes_and_upstreams_mix(pipeline: str, write: Any, capfd: Any) -> None:
    assert opt.main([write(FOLDABLE), f"--pass-pipeline={pipeline}"]) == 0
    out = capfd.readouterr().out
    assert "module @tagged" in out
    assert "arith.addi" not in out


def test_ir_is_printed_around_both_kinds_of_pass(write: Any, capfd: Any) -> None:
    arguments = ["--pass-pipeline=tag-module,canonicalize", "--mlir-print-ir-before-all", "--mlir-print-ir-after-all"]
    assert opt.main([write(FOLDABLE), *arguments]) == 0
    err = capfd.readouterr().err
    for when in ("Before", "After"):
        assert f"IR Dump {when} tag-module (tag-module)" in err
        assert f"IR Dump {when} CanonicalizerPass (canonicalize)" in err


def test_generic_form_and_locations(write: Any, capfd: Any) -> None:
    assert opt.main([write(FOLDABLE), "--mlir-print-op-generic", "--mlir-print-debuginfo"]) == 0
    out = capfd.readouterr().out
    assert '"arith.addi"(' in out
    assert "loc(" in out


BARRIERS = """gpu.module @k {
  llvm.func @f(%a: i32, %b: i32) {
    nvvm.barrier
    nvvm.barrier id = %a
    nvvm.barrier id = %a number_of_threads = %b
    llvm.return
  }
}
"""


@pytest.mark.parametrize("text", [FOLDABLE, BARRIERS], ids=["foldable", "barriers"])
def test_text_with_locations_parses_again_and_keeps_them(text: str, write: Any, capfd: Any) -> None:
    assert opt.main([write(text), "--mlir-print-debuginfo"]) == 0
    once = capfd.readouterr().out
    assert opt.main([write(once), "--mlir-print-debuginfo"]) == 0
    assert capfd.readouterr().out == once


def test_a_syntax_error_names_file_line_and_column(write: Any, capfd: Any) -> None:
    path = write("func.func @f() {\n  return %x : i32\n}\n")
    assert opt.main([path]) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    assert f"{path}:2:10: error: use of undeclared SSA value name" in captured.err


def test_a_verifier_error_names_file_line_and_column(write: Any, capfd: Any) -> None:
    path = write(WRONG)
    assert opt.main([path]) == 1
    err = capfd.readouterr().err
    assert err.startswith(f"{path}:2:3: error: type of return operand 0")
    assert "see current operation" not in err


def test_a_failing_pass_names_its_code_place_and_remedy(write: Any, capfd: Any) -> None:
    path = write("\n" + FOLDABLE)
    assert opt.main([path, "--pass-pipeline=fail-always"]) == 1
    assert capfd.readouterr().err == (
        f"{path}:2: error: WF893: x runs on builtin.module and cannot be nested in y\n  help: move x out of y(...)\n"
    )


def test_a_pass_that_leaves_an_op_it_must_remove_fails(write: Any, capfd: Any) -> None:
    assert opt.main([write(FOLDABLE), "--pass-pipeline=leave-some"]) == 1
    assert "error: WF330: " in capfd.readouterr().err
    assert opt.main([write(FOLDABLE), "--pass-pipeline=canonicalize,leave-some"]) == 0


def test_split_parts_are_separate_and_keep_their_line_numbers(write: Any, capfd: Any) -> None:
    path = write(f"{FOLDABLE}// -----\n{WRONG}// -----\n{FOLDABLE}")
    assert opt.main([path, "--split-input-file"]) == 1
    captured = capfd.readouterr()
    assert captured.out.count("// -----\n") == 1
    assert captured.out.count("arith.addi") == 2
    assert f"{path}:{len(FOLDABLE.splitlines()) + 3}:3: error" in captured.err


def test_no_verify_lets_a_later_pass_see_broken_ir(write: Any) -> None:
    pipeline = "--pass-pipeline=tag-module"
    assert opt.main([write(FOLDABLE), pipeline, "--no-verify"]) == 0


def test_unregistered_dialects_are_accepted_when_asked(write: Any, capfd: Any) -> None:
    path = write('"other.op"() : () -> ()\n')
    assert opt.main([path]) == 1
    assert "error: operation being parsed with an unregistered dialect" in capfd.readouterr().err
    assert opt.main([path, "--allow-unregistered-dialect"]) == 0


@pytest.mark.parametrize(
    ("pipeline", "says"),
    [
        ("builtin.module(tag-modul)", "WF891: no pass is called 'tag-modul' (near: tag-module)"),
        ("func.func(canonicalise)", "WF891: no pass is called 'canonicalise' (near: canonicalize)"),
        ("nothing-like-it-at-all", "WF891: no pass is called 'nothing-like-it-at-all'\n"),
        ("builtin.module(cse", "WF892: the pass pipeline does not parse: missing ')' at the end"),
        ("cse)", "WF892: the pass pipeline does not parse: unexpected ')' after 'cse'"),
        ("cse cse", "WF892: the pass pipeline does not parse: 'cse cse' is not name, name{options} or name(...)"),
        ("canonicalize{foo=1}", "WF892: the pass pipeline does not parse: <Pass-Options-Parser>: no such option foo"),
        ("gpu.module(tag-module)", "WF893: tag-module runs on builtin.module and cannot be nested in gpu.module"),
        ("tag-module{a=1}", "WF894: tag-module takes no options, got {a=1}"),
    ],
)
def test_bad_pipelines(pipeline: str, says: str, write: Any, capfd: Any) -> None:
    assert opt.main([write(FOLDABLE), f"--pass-pipeline={pipeline}"]) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    assert f"warpfold-opt: error: {says}" in captured.err


def test_pipeline_elements() -> None:
    elements = split("a, b{x=1,y={2,3}}, c(d,e(f)), ")
    assert [(e.name, e.options, e.body) for e in elements] == [
        ("a", "", ""),
        ("b", "{x=1,y={2,3}}", ""),
        ("c", "", "d,e(f)"),
    ]


def test_a_missing_input(tmp_path: Path, capfd: Any) -> None:
    assert opt.main([str(tmp_path / "none.mlir")]) == 1
    assert "WF591: cannot read" in capfd.readouterr().err


def test_an_input_that_is_not_text(tmp_path: Path, capfd: Any) -> None:
    path = tmp_path / "binary.mlir"
    path.write_bytes(b"\xff\xfe\x00")
    assert opt.main([str(path)]) == 1
    assert "WF591: cannot read" in capfd.readouterr().err


def test_the_output_file_is_whole_or_absent(write: Any, tmp_path: Path) -> None:
    target = tmp_path / "out.mlir"
    assert opt.main([write(WRONG), "-o", str(target)]) == 1
    assert not target.exists()
    assert opt.main([write(FOLDABLE), "-o", str(target)]) == 0
    assert "arith.addi" in target.read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["input.mlir", "out.mlir"]


def test_an_output_that_cannot_be_written_is_found_first(write: Any, tmp_path: Path, capfd: Any) -> None:
    for target in (tmp_path, tmp_path / "none" / "out.mlir"):
        assert opt.main([write(FOLDABLE), "-o", str(target), "--mlir-print-ir-after-all"]) == 1
        assert "WF592: cannot write" in capfd.readouterr().err
    assert opt.main([write(FOLDABLE), "-o", "/dev/null"]) == 0


def test_a_full_or_closed_standard_output_is_no_traceback(write: Any) -> None:
    command = [sys.executable, "-m", "warpfold.opt", write(FOLDABLE)]
    with open("/dev/full", "w") as full:  # noqa: PTH123
        found = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert found.returncode == 1
    assert found.stderr.startswith("warpfold-opt: error: WF592: cannot write standard output: No space left on device")
    reader, writer = os.pipe()
    os.close(reader)
    found = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (found.returncode, found.stderr) == (141, "")


def test_an_interrupt_is_no_traceback(write: Any, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    def interrupted(_: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(opt, "_read", interrupted)
    assert opt.main([write(FOLDABLE)]) == opt.INTERRUPTED
    assert capfd.readouterr().err == "warpfold-opt: interrupted: nothing was written\n"


def test_the_list_of_passes_has_our_order(capfd: Any) -> None:
    assert opt.main(["--list-passes"]) == 0
    assert capfd.readouterr().out.splitlines()[0] == "tag-module   marks the module"


def test_expected_diagnostics_of_every_kind_of_failure(write: Any, capfd: Any) -> None:
    text = (
        "func.func @f(%a: i32) -> i64 {\n"
        "  // expected-error @+1 {{type of return operand 0 ('i32')}}\n"
        "  return %a : i32\n"
        "}\n"
        "// -----\n"
        "func.func @f(%a: i32) {\n"
        "  return %b : i32  // expected-error {{undeclared SSA value}}\n"
        "}\n"
    )
    assert opt.main([write(text), "--split-input-file", "--verify-diagnostics"]) == 0
    located = "// expected-error-re @below {{WF893: {{[a-z]}} runs on builtin.module}}\nfunc.func private @f()\n"
    assert opt.main([write(located), "--pass-pipeline=fail-always", "--verify-diagnostics"]) == 0
    both = "// expected-error @unknown {{WF893}}\n// expected-error @below {{said by}}\nfunc.func private @f()\n"
    assert opt.main([write(both), "--pass-pipeline=say-error", "--verify-diagnostics"]) == 0
    assert "error" not in capfd.readouterr().err


def test_unmet_and_unexpected_diagnostics_fail(write: Any, capfd: Any) -> None:
    path = write("// expected-error {{nothing such}}\n" + WRONG)
    assert opt.main([path, "--verify-diagnostics"]) == 1
    err = capfd.readouterr().err
    assert f'{path}:1:1: error: expected error "nothing such" was not produced' in err
    assert f"{path}:3:3: error: unexpected error: type of return operand 0" in err


def test_a_malformed_expectation_fails(write: Any, capfd: Any) -> None:
    assert opt.main([write("// expected-error @+1 {no braces}\n" + FOLDABLE), "--verify-diagnostics"]) == 1
    assert "not a well-formed expectation" in capfd.readouterr().err


def test_places_of_expectations() -> None:
    lines = [
        "op  // expected-note@-1 {{a}}",
        "// expected-warning @above {{b}}",
        "// expected-remark @below {{c}}",
        "// expected-error-re @+2 {{x.y {{[0-9]+}} z}}",
        "op",
        "// expected-error @unknown {{d}}",
    ]
    found = expectations(lines, first_line=10)
    assert [(e.kind, e.line) for e in found] == [
        ("note", 9),
        ("warning", 9),
        ("remark", 14),
        ("error", 15),
        ("error", None),
    ]
    assert mismatches(found[3:4], [Diagnostic("error", 15, 1, "in x.y 42 z")]) == []
    assert len(mismatches(found[3:4], [Diagnostic("error", 15, 1, "in xyy 42 z")])) == 2


def test_errors_are_of_the_tree() -> None:
    assert isinstance(error("WF591", path="x", reason="y"), OSError)
    assert isinstance(error("WF891", name="x", near=""), WarpfoldError)
