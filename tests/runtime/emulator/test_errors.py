"""Invalid PTX texts, and launches that are refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from emulator_harness import HEADER, module, run

from warpfold.compiler.errors import EmulatorError
from warpfold.compiler.errors.catalogue import CATALOGUE
from warpfold.runtime import emulator

SMALL = HEADER + ".visible .entry k(.param .u64 a, .param .f32 b) .maxntid 64, 1, 1 { ret; }"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("frobnicate.u32 r1, r2;", r"WF702: PTX line 9: 'frobnicate\.u32 r1, r2;': unknown .* abs, activemask, add, "),
        ("add.rn.u32 r1, r2, r3;", r"WF703.*expected no modifier \.rn here"),
        ("add.u33 r1, r2, r3;", r"WF703.*expected a type \.u16.*got \.u33"),
        ("add.u32 r1, r2;", r"WF703.*expected 3 operands, got 2"),
        ("add.u32 d2, r2, r3;", r"WF703.*expected a register of 32 bits, got d2 of type \.b64"),
        ("add.u32 5, r2, r3;", r"WF703.*expected a register as the destination, got imm"),
        ("ld.shared.u32 r1, [k_out];", r"WF703.*expected 'k_out' in \.shared memory, it lies in \.param"),
        ("ld.global.v2.u32 r1, [d0];", r"WF703.*expected 2 elements, got 1"),
        ("cvt.f32.s32 r1, r2;", r"WF703.*expected one of \.rn, \.rz, \.rm, \.rp"),
        ("shfl.bfly.b32 r1, r2, 1, 31;", r"WF703.*expected one of \.sync"),
        ("atom.global.add.b32 r1, [d0], r2;", r"WF703.*expected \.add with a type"),
        ("call (r1), helper, (r2, r3);", r"WF703.*expected 1 results and 1 arguments, got 1 and 2"),
        ("call (r1), nowhere, (r2);", r"WF704.*no function defined in this module is called 'nowhere'"),
        ("bra NOWHERE;", r"WF704.*no label is called 'NOWHERE'"),
        ("add.u32 r1, r2, r77;", r"WF704: PTX line 9: 'add\.u32 r1, r2, r77;': no name is called 'r77'"),
        ("add.u32 r1, r2, r20;", r"WF704.*no name is called 'r20'"),  # of .reg .b32 r<20>
        ("add.u32 r1, r2 r3;", r"WF701.*expected ',', got 'r3'"),
        ("@d1 bra L; L:", r"WF701.*expected a predicate register after '@'"),
        ("L: L: ret;", r"WF701.*expected one label 'L', got two"),
        (".surprise 3;", r"WF701.*expected a statement, got the directive '\.surprise'"),
        ("add.u32 r1, r2, `;", r"WF701.*expected a PTX token, got '`'"),
    ],
)
def test_texts_are_refused_when_parsed(text: str, message: str) -> None:
    helpers = ".func (.reg .b32 o) helper(.reg .b32 x) { ret; }"
    with pytest.raises(EmulatorError, match=message):
        module(text, before=helpers)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + ".visible .entry k() { ret;", "WF701.*expected '}' to close the body of 'k'"),
        (HEADER + "bogus", "WF701.*expected a module directive, got 'bogus'"),
        (".version 8.0\n.target sm_90\n.address_size 32\n", "WF701: PTX line 3.*expected .address_size 64"),
    ],
)
def test_modules_are_refused(text: str, message: str) -> None:
    with pytest.raises(EmulatorError, match=message):
        emulator.parse(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"entry": "q"}, "WF705: no kernel is called 'q': expected one of k"),
        ({"args": [1]}, "WF706: kernel 'k' takes 2 arguments, got 1"),
        ({"args": [b"123", 1.0]}, r"WF707: argument 0 of kernel 'k', 'a': expected \.u64 of 8 bytes, got 3 bytes"),
        ({"args": [1.5, 1.0]}, r"WF707: argument 0.*got the float 1\.5"),
        ({"args": [1, "x"]}, r"WF707: argument 1.*expected \.f32 of 4 bytes, got a str"),
        ({"block": (1025, 1, 1)}, "WF708.*expected at most 1024 threads, got 1025"),
        ({"block": (65, 1, 1)}, "WF708.*expected at most 64 threads, got 65"),
        ({"block": (0, 1, 1)}, r"WF708.*expected a block of three positive sizes, got \(0, 1, 1\)"),
        (
            {"grid": (3, 1, 1), "cluster": (2, 1, 1)},
            r"WF708.*a grid that clusters of \(2, 1, 1\) divide, got \(3, 1, 1\)",
        ),
        ({"shared_bytes": 300000}, "WF709.*at most 232448 bytes of shared memory, got 0 static and 300000 dynamic"),
    ],
)
def test_launches_are_refused(change: dict[str, Any], message: str) -> None:
    options: dict[str, Any] = {"entry": "k", "grid": (1, 1, 1), "block": (32, 1, 1), "args": [0, 1.0]} | change
    with pytest.raises(EmulatorError, match=message):
        emulator.launch(emulator.parse(SMALL), memory=emulator.Memory(), **options)


@pytest.mark.parametrize(
    ("directive", "message"),
    [
        (".reqntid 64, 1, 1", r"WF708.*expected a block of \(64, 1, 1\), got \(32, 1, 1\)"),
        (
            ".explicitcluster .reqnctapercluster 2, 1, 1",
            r"WF708.*expected a grid that clusters of \(2, 1, 1\) divide, got \(1, 1, 1\)",
        ),
    ],
)
def test_directives_bind_the_launch(directive: str, message: str) -> None:
    with pytest.raises(EmulatorError, match=message):
        run("", after=directive)


def test_a_kernel_with_a_cluster_size_has_no_other_size() -> None:
    """As in the driver, a launch without a cluster size gets the kernel's, and another size is refused."""
    text = (
        f"{HEADER} .visible .entry k(.param .b64 k_out) .explicitcluster .reqnctapercluster 1, 2, 1 {{ .reg .b32 %r<2>;"
        " .reg .b64 %rd<2>; ld.param.b64 %rd1, [k_out]; mov.u32 %r1, %cluster_nctarank; st.global.u32 [%rd1], %r1;"
        " ret; }"
    )
    memory, out = emulator.Memory(), np.zeros(1, np.int32)
    built, args = emulator.parse(text), [memory.bind(out.view(np.uint8))]
    emulator.launch(built, "k", (1, 4, 1), (1, 1, 1), args, memory)
    assert out[0] == 2
    with pytest.raises(EmulatorError, match=r"WF708.*expected a cluster of \(1, 2, 1\), got \(1, 4, 1\)"):
        emulator.launch(built, "k", (1, 4, 1), (1, 1, 1), args, memory, cluster=(1, 4, 1))


def test_a_text_is_parsed_once() -> None:
    assert emulator.parse(SMALL) is emulator.parse(SMALL)
    assert emulator.parse(SMALL).entries == ["k"]


def test_debug_directives_are_skipped() -> None:
    text = """
    .file 1 "reduce.cu"
    .visible .entry k(.param .b64 k_out)
    { .loc 1 7 3, function_name $L__info_string0, inlined_at 1 2 3
      .pragma "nounroll"; /* a comment
      of two lines */ trap; }
    .section .debug_str { $L__info_string0: .b8 95, 0 }
    """
    built = emulator.parse(HEADER + text)
    with pytest.raises(EmulatorError, match=re.escape("PTX line 9: 'trap;'")):
        emulator.launch(built, "k", (1, 1, 1), (1, 1, 1), [0], emulator.Memory())


def test_arguments_are_wrapped_to_their_width() -> None:
    built = module(
        "ld.param.s16 h1, [k_s]; cvt.s32.s16 r1, h1; ld.param.f64 d2, [k_d]; cvt.rni.s32.f64 r2, d2; "
        "add.s32 r1, r1, r2; st.global.u32 [d1], r1;",
        params=".param .b64 k_out, .param .u16 k_s, .param .f64 k_d",
    )
    memory, out = emulator.Memory(), np.zeros(1, np.int32)
    emulator.launch(built, "k", (1, 1, 1), (1, 1, 1), [memory.bind(out.view(np.uint8)), 65536 - 3, 10], memory)
    assert out[0] == 7


def test_every_code_of_the_emulator_is_tested() -> None:
    from pathlib import Path

    texts = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    own = [code for code in CATALOGUE if re.fullmatch("WF7[0-3].", code)]
    assert len(own) >= 20
    assert [code for code in own if code not in texts] == []
