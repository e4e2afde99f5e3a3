"""Unsupported instructions are refused when a thread reaches them; the rest of the text runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator_harness import DATA, HEADER, run
from emulator_instructions import CASES

from warpfold.compiler.errors import EmulatorError
from warpfold.runtime import emulator
from warpfold.runtime.emulator.ptx import unsupported

MODULE = emulator.parse((DATA / "foreign" / "lacking_sm90.ptx").read_text())


def started(entry: str, *numbers: Any, how: Any = emulator.launch) -> tuple[np.ndarray, Any]:
    """The array that six threads of ``entry`` write, and the result of ``how``."""
    memory, out = emulator.Memory(), np.full(64, -1, np.int32)
    args = [memory.bind(out.view(np.uint8), name="out"), *numbers]
    return out[:6], how(MODULE, entry, (1, 1, 1), (6, 1, 1), args, memory)


def test_kernels_beside_unsupported_ones_run() -> None:
    assert (started("plain")[0] == 3 * np.arange(6)).all()


def test_a_kernel_runs_if_no_thread_reaches_an_unsupported_instruction() -> None:
    assert (started("sometimes", 3)[0] == 3).all()


@pytest.mark.parametrize(
    ("entry", "number", "message"),
    [
        ("sometimes", 4, r"does not run products of warpgroups; kernel 'sometimes', PTX line \d+: 'wgmma\.fence"),
        ("textures", 0, r"does not run textures; kernel 'textures', PTX line \d+: 'tex\.2d\.v4\.f32\.f32 "),
        ("surfaces", 0, r"does not run surfaces; kernel 'surfaces', PTX line \d+: 'suld\.b\.2d\.b32\.trap "),
        ("recursive", 1, r"does not run calls that are recursive; .*: 'call\.uni .*ackermann"),
        ("pointers", 1, r"does not run variables whose initialisers are addresses; .*: 'mov\.u64 %rd\d+, table;'"),
        ("addresses", 4, r"does not run variables whose initialisers are addresses; .*: 'ld\.global\.u64 "),
        ("heap", None, r"does not run the function 'malloc', which has no body here; .*: 'call\.uni .*malloc"),
    ],
)
def test_a_thread_that_reaches_an_unsupported_instruction_is_refused_there(
    entry: str, number: int | None, message: str
) -> None:
    with pytest.raises(EmulatorError, match=f"^WF721: the emulator {message}.*CTA .0, 0, 0., thread"):
        started(entry, *([] if number is None else [number]))


BEFORE = """
.extern .global .u32 x; .extern .const .b8 y[16]; .global .texref t; .tex .u32 old; .global .u64 p = generic(q) + 4;
.global .b8 q[4] = {0xFF(p), 0xFF00(p), 1, 2}; .global .samplerref u = { addr_mode_0 = clamp };
.extern .func outside(.param .b32 a); .func (.reg .b32 o) again(.reg .b32 x) { call (o), again, (x); ret; }
.func f() { ret; } .alias g, f;
"""
OPERANDS = "{r1, r2}, [d0, {r1}], (r3), 5"


@pytest.mark.parametrize(
    "text",
    [
        *(f"{opcode}.any.b32 {OPERANDS};" for opcodes in unsupported._OPCODES.values() for opcode in opcodes.split()),
        *(f"{opcode}.any.{form} {OPERANDS};" for opcode, forms in unsupported._BY_FORM.items()
          for words in forms.values() for form in words.split()),
        "ld.global.u32 r1, [x];", "ld.const.u32 r1, [y+4];", "mov.u64 d2, t;", "mov.u64 d2, old;", "mov.u64 d2, p;",
        "ld.global.u32 r1, [q];", "mov.u64 d2, u;", "mov.u64 d2, f;", "mov.u32 r1, %pm0;", "mov.u32 r1, %envreg7;",
        "call outside, (r1);", "call (r1), again, (r2);", "call d2, (r1);",
        "call (r1), d2, (r2), proto; proto: .callprototype (.param .b32 _) _ (.param .b32 _);",
    ],
)  # fmt: skip
def test_every_unsupported_instruction_is_refused_only_when_reached(text: str) -> None:
    assert (run(f"@p1 bra end; bra end; {text} end: st.global.u32 [d1], r0;", before=BEFORE) == np.arange(32)).all()
    head, *rest = text.split("; ")
    guarded = "; ".join([f"@p1 {head}", *rest])
    assert (run(f"setp.ne.u32 p1, r0, r0; {guarded} st.global.u32 [d1], r0;", before=BEFORE) == np.arange(32)).all()
    with pytest.raises(EmulatorError, match=r"^WF721: the emulator does not run .*thread \(5, 0, 0\)"):
        run(f"setp.eq.u32 p1, r0, 5; {guarded}", before=BEFORE)


def test_no_supported_instruction_is_listed_as_unsupported() -> None:
    assert not set(unsupported._BY_OPCODE) & set(emulator.SUPPORTED)
    assert set(unsupported._BY_FORM) <= set(emulator.SUPPORTED)
    words = (case.text.split()[0].split(".") for case in CASES)
    assert [word for word in words if unsupported.what(word[0], word[1:])] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tex.2d.v4.f32.f32 {r1, r2}, [d0, {r1};", r"WF701: PTX line \d+: .*expected ';', got ';'|expected ';', got"),
        ("wgmma.fence.sync.aligned", "WF701.*expected ';', got"),
        ("frobnicate.u32 r1;", "WF702: PTX line .* unknown instruction 'frobnicate'"),
        ("add.frob.u32 r1, r2, r3;", "WF703.*expected no modifier"),
    ],
)
def test_forms_that_no_target_defines_are_refused_when_read(text: str, message: str) -> None:
    with pytest.raises(EmulatorError, match=message):
        emulator.parse(f"{HEADER} .visible .entry k() {{ .reg .b32 r<9>; .reg .b64 d<9>; ret; {text} }}")


def test_an_assertion_is_named_with_its_place_and_thread() -> None:
    message = r"^WF723: assertion failed: threadIdx\.x < n && \"a thread for each\", in void asserts\(int \*, int\) at "
    message += r"lacking\.cu:14; kernel 'asserts', PTX line \d+: 'call\.uni __assertfail, .*thread \(4, 0, 0\)"
    assert (started("asserts", 6)[0] == 6).all()
    with pytest.raises(EmulatorError, match=message):
        started("asserts", 4)
    (found,) = started("asserts", 4, how=emulator.sanitize)[1]
    assert (found.kind, found.threads[0].thread) == ("assertion", (4, 0, 0))
    assert found.words.startswith("assertion failed: threadIdx.x < n")
