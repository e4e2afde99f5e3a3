"""``printf`` of a kernel: each conversion as the C library prints it, and where the output goes."""

from __future__ import annotations

import ctypes
import json
import random
import struct

import numpy as np
import pytest
from click.testing import CliRunner
from emulator_harness import DATA, run

from warpfold.cli import cli
from warpfold.compiler.errors import EmulatorError
from warpfold.runtime import emulator
from warpfold.runtime.emulator.machine.printing import MOST, formatted

LACKING = DATA / "foreign" / "lacking_sm90.ptx"
_PRINT = ctypes.CDLL(None).snprintf
STRINGS = {1 << 40: b"", 2 << 40: b"odd", 3 << 40: b"a longer text"}


def in_c(text: bytes, arguments: list[object]) -> bytes:
    """The output of the C library."""
    out = ctypes.create_string_buffer(1 << 16)
    _PRINT(out, ctypes.c_size_t(1 << 16), text, *arguments)
    return out.value


def field(rng: random.Random) -> tuple[bytes, list[object], list[tuple[str, object]]]:
    """A conversion, its arguments for C, and the arguments for ``struct.pack``."""
    kind = rng.choice("diouxXcfFeEgGaAsp")
    flags = "".join(f for f in "-+ #0" if rng.random() < 0.25)
    if kind in "cps":  # the others are undefined in C
        flags = "-" * ("-" in flags)
    if kind in "diu":
        flags = flags.replace("#", "")
    width, precision = rng.choice(["", "1", "7", "30", "*"]), rng.choice(["", ".", ".0", ".3", ".20", ".*"])
    if kind in "cp":
        precision = ""
    length = rng.choice(["", "", "hh", "h", "l", "ll", "z"]) if kind in "diouxX" else ""
    given: list[object] = []
    packed: list[tuple[str, object]] = []
    for star in [width == "*", precision == ".*"]:
        if star:
            n = rng.randrange(0 if "0" in flags else -12, 20)  # glibc pads on the right with zeros
            given.append(ctypes.c_int(n))
            packed.append(("i", n))
    if kind in "diouxXc":
        bits = 64 if length in ("l", "ll", "z") else 32
        value = rng.choice([0, 1, -1, 77, -(1 << bits - 1), (1 << bits - 1) - 1, rng.getrandbits(bits - 1)])
        value = 33 + value % 90 if kind == "c" else value
        given.append((ctypes.c_longlong if bits == 64 else ctypes.c_int)(value))
        packed.append(("q" if bits == 64 else "i", value))
    elif kind in "sp":
        at = rng.choice(list(STRINGS))
        given.append(ctypes.c_char_p(STRINGS[at]) if kind == "s" else ctypes.c_void_p(at))
        packed.append(("Q", at))
    else:
        inf = float("inf")
        real = rng.choice([0.0, -0.0, 1.0, -1.5, 0.1, 1e300, 5e-324, 123456.789, 2.5, inf, -inf, rng.gauss(0, 1e3)])
        given.append(ctypes.c_double(real))
        packed.append(("d", real))
    return f"%{flags}{width}{precision}{length}{kind}".encode(), given, packed


def packed_bytes(arguments: list[tuple[str, object]]) -> bytes:
    """The arguments as bytes in memory."""
    out = b""
    for code, value in arguments:
        out = out.ljust(-(-len(out) // struct.calcsize(code)) * struct.calcsize(code), b"\0") + struct.pack(code, value)
    return out


@pytest.mark.parametrize("seed", range(20))
def test_conversions_print_as_in_c(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        fields = [field(rng) for _ in range(rng.randrange(1, 4))]
        text = b"%%|" + b"|".join(f for f, _, _ in fields) + b"|\n"
        data = packed_bytes([p for _, _, packed in fields for p in packed])
        said, count = formatted(text, 0, lambda at, size, data=data: data[at : at + size], STRINGS.__getitem__)
        assert said == in_c(text, [a for _, given, _ in fields for a in given]), text
        assert count == sum(len(packed) for _, _, packed in fields)


def launched(entry: str, *numbers: object, **options: object) -> np.ndarray:
    memory, out = emulator.Memory(), np.full(64, -1, np.int32)
    args = [memory.bind(out.view(np.uint8)), *numbers]
    emulator.launch(emulator.parse(LACKING.read_text()), entry, (1, 1, 1), (2, 1, 1), args, memory, **options)
    return out


SAID = """thread 0 of 2:  0.00 even 0 a
thread 1 of 2:  1.50 odd 1099511627776 b
0%
1%
"""


@pytest.mark.parametrize("seed", [None, 3])
def test_a_kernel_prints_to_standard_output(seed: int | None, capsys: pytest.CaptureFixture[str]) -> None:
    out = launched("prints", 1.5, seed=seed)
    said = capsys.readouterr().out
    assert sorted(said.splitlines()) == sorted(SAID.splitlines())
    assert seed is not None or said == SAID
    assert out[:2].tolist() == [1, 1]  # the number of arguments


@pytest.mark.parametrize("command", ["run", "sanitize", "profile"])
def test_the_commands_show_the_output_of_kernels(command: str) -> None:
    words = [command, str(LACKING), "--launch", "prints<<<1, 2>>>(i32[64], 1.5)"]
    result = CliRunner().invoke(cli, words)
    assert (result.exit_code, SAID in result.stdout) == (0, True), result.output
    result = CliRunner().invoke(cli, [*words, "--json"])
    assert json.loads(result.stdout)
    assert SAID in result.stderr


def test_the_output_of_a_launch_is_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    text = "%.4000d " * 8
    body = """
mov.b64 d3, text; cvta.global.u64 d3, d3; mov.b64 d4, numbers; cvta.global.u64 d4, d4;
{ .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], d3; st.param.b64 [b], d4;
call (c), vprintf, (a, b); }
"""
    codes = ", ".join(str(byte) for byte in text.encode())
    before = ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b); .global .align 8 .b32 numbers[8];"
    run(body, threads=64, before=f"{before} .global .b8 text[{len(text) + 1}] = {{{codes}, 0}};")
    said = capsys.readouterr().out
    assert MOST < len(said) + 32008 < MOST + 40000
    assert said.endswith(f"\n[printf: {64 * 32008 - said.index(chr(10))} bytes more are left out]\n")
    with pytest.raises(EmulatorError, match=r"WF713: null pointer: 1 bytes read at address 0x0; .*'call "):
        run(body.replace("mov.b64 d3, text; cvta.global.u64 d3, d3;", "mov.b64 d3, 0;"), before=before)


def test_a_function_of_that_name_is_the_modules_own() -> None:
    before = (
        ".func (.param .b32 r) vprintf(.param .b32 a) { .reg .b32 x; ld.param.b32 x, [a]; st.param.b32 [r], x; ret; }"
    )
    body = "{ .param .b32 a; .param .b32 r; st.param.b32 [a], r0; call (r), vprintf, (a); ld.param.b32 r1, [r]; }"
    assert (run(f"{body} st.global.u32 [d1], r1;", before=before) == np.arange(32)).all()
