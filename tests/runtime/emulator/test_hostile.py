"""Texts that ask for too much, and seeded mutants: each ends soon in a coded error or a result."""

from __future__ import annotations

import random
import re
import tracemalloc
from time import perf_counter

import pytest
from click.testing import CliRunner
from emulator_harness import DATA, HEADER

from warpfold.cli import cli
from warpfold.compiler.errors import WarpfoldError
from warpfold.runtime.emulator import Memory, launch, parse
from warpfold.runtime.emulator.ptx.limits import CALLS, LOCAL, NESTED, QUOTED, short
from warpfold.runtime.emulator.ptx.types import Variable

MANY = "1" * 5000
READ = parse.__wrapped__  # type: ignore[attr-defined]  # each text is read anew
SECOND = 8
"""The seconds that an error may take on a busy machine; on an idle one it takes a fraction of a second."""


def kernel(body: str = "", before: str = "", params: str = "") -> str:
    registers = ".reg .b32 r<9>; .reg .pred p<4>; .reg .b64 d<9>; .reg .f32 f<4>;"
    return f"{HEADER}{before}\n.visible .entry k({params}) {{ {registers}\n{body}\nret; }}"


def calls(depth: int, each: int, body: str = "ret;") -> str:
    functions = [f".func f0() {{ {body} }}"]
    functions += [f".func f{k}() {{ {f'call f{k - 1};' * each} {body} }}" for k in range(1, depth + 1)]
    return kernel(f"call f{depth};", "\n".join(functions))


NUMBER, COUNT, POWER = (
    f"WF701: PTX line .* expected a{x}" for x in (" number of 64 bits", " number of el", " power of")
)
TEXTS = [
    (kernel("mov.u32 r1, 09;"), f"{NUMBER}, got 09"),
    (kernel("mov.u32 r1, 0b2;"), "WF701"),
    (kernel(f"mov.u32 r1, {MANY};"), NUMBER),
    (kernel(f"mov.u32 r1, 0x{'f' * 5000};"), NUMBER),
    (kernel("mov.u32 r1, 18446744073709551616;"), NUMBER),
    (kernel("mov.u32 r1, 1e999;"), f"{NUMBER}, got 1e999"),
    (kernel("mov.f32 f1, -1e999;"), NUMBER),
    (kernel(f"ld.global.u32 r1, [d1+{MANY}];"), NUMBER),
    (kernel("mov.u32 r" + MANY + ", 1;"), "WF704"),
    (kernel("", f".global .align {MANY} .b8 x[4];"), NUMBER),
    (kernel("", ".global .align 0 .b8 x[4];"), POWER),
    (kernel("", ".global .align 3 .b8 x[4];"), POWER),
    (kernel("", ".global .align -4 .b8 x[4];"), "WF701: .* an alignment from 0 to 65536, got -4"),
    (kernel("", ".global .b8 x[-1];"), f"{COUNT}.* got -1"),
    (kernel("", ".shared .b8 x[2][-3];"), COUNT),
    (kernel("", ".global .b8 x[0f3f800000];"), "WF701: .*expected an integer, got 0f3f800000"),
    (kernel("", ".global .b8 x[9223372036854775808];"), COUNT),
    (kernel("", f".global .b8 x{'[1000]' * 1500};"), "WF701: .*expected at most 1099511627776 bytes"),
    (kernel("", ".global .b8 x[2] = {1, 2, 3};"), "WF701: .*expected an initialiser of at most 2 bytes for 'x', got 3"),
    (kernel(".reg .b32 q<-5>;"), "WF701: .*expected a number of registers from 0"),
    (kernel("{" * 1500 + "}" * 1500), f"WF724: PTX line .*expected at most {NESTED} blocks or lists"),
    (kernel("", f".global .b8 x[4] = {'{' * 1500}1{'}' * 1500};"), "WF724"),
    (kernel(f"mov.b64 d1, {'{' * 1500}r1{'}' * 1500};"), "WF724"),
    (kernel(f"call f, {'(' * 1500}r1{')' * 1500};"), "WF724"),
    (kernel("mov.u64 d1, x;", ".global .b8 x[1099511627776];"), "WF726: the variable 'x' takes 1099511627776 bytes"),
    (kernel("mov.u64 d1, x;", ".const .b8 x[1099511627776] = {1};"), "WF726"),
    (kernel(".local .b8 x[1073741824]; mov.u64 d1, x;"), f"WF725: kernel 'k' .* at most {LOCAL} bytes of local memory"),
    (kernel("{ .param .b8 x[1099511627776]; st.param.b32 [x], r1; }"), "WF725"),
    (kernel("", "", ".param .b8 x[1099511627776]"), "WF725: kernel 'k' .* at most 32764 bytes of parameters"),
    (kernel(".shared .b8 x[1099511627776]; mov.u32 r1, x;"), "WF709"),
    (calls(1500, 1), f"WF724: PTX line .*'call f\\d+;': expected at most {CALLS} calls, one in another"),
    (calls(24, 2), "WF724"),
    (calls(24, 2, ""), "WF724"),
    (kernel("add.u32 r1, r2, " * 3000), "WF70"),
    (kernel("tex.2d " + "{" * 3000), "WF701"),
    (HEADER + "/*" * 3000, "WF701"),
    (HEADER + '"' + "\\" * 3000, "WF701"),
]


def ended(text: str, entry: str = "k", **options: object) -> str:
    """How parsing and launching a text ends."""
    try:
        module, memory = READ(text), Memory()
        address = memory.allocate(4096, name="x", initialised=True)
        memory.view(address, 4096)[:] = 0
        params = [p for p in module.functions[entry or module.entries[0]].params if isinstance(p, Variable)]
        args = [address if p.size == 8 else 4 if p.size <= 4 else bytes(min(p.size, 4096)) for p in params]
        launch(module, entry or module.entries[0], (1, 1, 1), (33, 1, 1), args, memory, **{"max_steps": 100, **options})
    except WarpfoldError as e:
        return str(e)
    return ""


def test_a_text_is_cut_where_it_is_longer_than_what_is_quoted() -> None:
    text = "x" * QUOTED
    assert (short(text), short(text + "x")) == (text, f"{text}... ({QUOTED + 1} characters)")


@pytest.mark.parametrize(("text", "message"), TEXTS)
def test_a_text_that_asks_for_too_much_is_a_coded_error(text: str, message: str) -> None:
    tracemalloc.start()
    begin = perf_counter()
    found = ended(text)
    seconds, peak = perf_counter() - begin, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert re.match(message, found), found[:300]
    assert (len(found) < 2000, seconds < SECOND, peak < 200 << 20) == (True, True, True), (seconds, peak)


def test_kernels_beside_one_that_is_too_large_run() -> None:
    text = calls(24, 2) + "\n.visible .entry small() { ret; }"
    assert ended(text, "small") == ""
    assert ended(text).startswith("WF724")


@pytest.mark.parametrize("count", [CALLS - 1, 11])
def test_the_largest_allowed_number_of_calls_runs(count: int) -> None:
    assert ended(calls(count, 1 if count > 11 else 2), max_steps=1 << 20) == ""


_FORM = re.compile(r"^\s*(?:@!?%p\d+\s+)?([a-z]\w*[\w.:]*\s[^;\n]*);", re.MULTILINE)
LINES = sorted({line for path in DATA.glob("**/*.ptx") for line in _FORM.findall(path.read_text())})
FORMS: dict[str, list[str]] = {}
for _line in LINES:
    FORMS.setdefault(_line.split()[0], []).append(_line)
NAMES = list(FORMS)
OPERANDS = re.findall(
    r"\S+",
    "%r1 %rd1 %p1 %f1 %rs1 %q1 1 -1 18446744073709551615 1.5 0f3f800000 _ [%rd1] [%rd1+8] [%r1] [s] [g] [P] [l] [c] "
    "{%r1,%r2} {%r1,%r2,%r3,%r4} {} {_,%r1} %r1|%p1 !%p1 s g P %tid.x %clock64 %gridid L0 (%r1) WARP_SZ [16] g+4 "
    "!%r1 {%rd1} 09 1e999 g+18446744073709551615 [%rd1+18446744073709551615] [s+18446744073709551615]",
)
FRAME = """.global .b8 g[64]; .const .b32 c[4] = {{1, 2, 3, 4}};
.visible .entry k(.param .u64 P) {{
.reg .b32 %r<4000>, %f<4000>; .reg .pred %p<4000>; .reg .b64 %rd<4000>, %fd<4000>; .reg .b16 %rs<4000>, %h<4000>;
.reg .b128 %q<9>; .shared .b8 s[64]; .local .b8 l[64]; ld.param.u64 %rd1, [P];
{} L0: ret; }}"""


def instruction(rng: random.Random) -> str:
    """An instruction of nvcc's with other operands and modifiers."""
    line = rng.choice(FORMS[rng.choice(NAMES)])
    opcode, rest = line.split(maxsplit=1)
    words, operands = opcode.split("."), re.split(r",\s*(?![^{\[(]*[}\])])", rest)
    for _ in range(rng.choice([0, 1, 1, 2])):
        match rng.randrange(6):
            case 0:
                operands[rng.randrange(len(operands))] = rng.choice(OPERANDS)
            case 1:
                operands.insert(rng.randrange(len(operands) + 1), rng.choice(OPERANDS))
            case 2 if len(operands) > 1:
                del operands[rng.randrange(len(operands))]
            case 3 if len(words) > 1:
                del words[rng.randrange(1, len(words))]
            case 4:
                words.insert(rng.randrange(1, len(words) + 1), rng.choice(rng.choice(NAMES).split(".")))
            case _:
                operands = [rng.choice(OPERANDS) for _ in operands]
    return f"{rng.choice(['', '@%p1 ', '@!%p1 '])}{'.'.join(words)} {', '.join(operands)};"


@pytest.mark.parametrize("seed", range(10))
def test_mutants_of_instructions(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(60):
        found = ended(HEADER + FRAME.format(instruction(rng)))
        assert re.match(r"WF7\d\d: |$", found), found


EVIL = [
    *("09", MANY, "1e999", "-1", "9223372036854775808", "0", "%r1", "_", "é", "/*", '"', ".v4", ".align 0"),
    *"{}()[]<>;,@!|:\0",
]
FILES = [path.read_text() for path in sorted(DATA.glob("**/*.ptx")) if path.stat().st_size < 8000]


@pytest.mark.parametrize("seed", range(10))
def test_mutants_of_texts(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(12):
        words = re.findall(r"\s+|[\w.%$]+|.", rng.choice(FILES))
        for _ in range(rng.choice([1, 1, 2, 3])):
            at, other = rng.randrange(len(words)), rng.randrange(len(words))
            match rng.randrange(4):
                case 0:
                    del words[at]
                case 1:
                    words[at] = rng.choice(EVIL)
                case 2:
                    words[at], words[other] = words[other], words[at]
                case _:
                    words[at : at + 30] *= rng.choice([0, 2])
        found = ended("".join(words), "") if ".entry" in words else ""
        assert re.match(r"WF[78]\d\d: |$", found), found


LAUNCHES = (
    "k<<<1, 32>>>(x:f32[64], 3, 1.5)",
    "k<<<dim3(2), (4,4,2), 128, (1,1,1)>>>(f32[4x16]=arange, 3:u32, 0.5:f32)",
)


def launched(text: str, path: str) -> str:
    """The standard error of the command, which does not fail otherwise."""
    result = CliRunner().invoke(cli, ["sanitize", path, "--launch", text, "--max-steps", "100"])
    assert result.exception is None or isinstance(result.exception, SystemExit), (text[:200], result.exception)
    assert (result.exit_code in (0, 1, 2), len(result.output) < 4000) == (True, True), result.output[:4000]
    return result.stderr


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    found = tmp_path_factory.mktemp("hostile") / "k.ptx"
    found.write_text(kernel("", "", ".param .u64 a, .param .u32 n, .param .f32 x"))
    return str(found)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"k<<<{MANY}, 1>>>(f32[1], 1, 1.0)", "WF820"),
        (f"k<<<1, {MANY}>>>(f32[1], 1, 1.0)", "WF820"),
        (f"k<<<1, 1, {MANY}>>>(f32[1], 1, 1.0)", "WF820"),
        (f"k<<<1, 1>>>(f32[{MANY}], 1, 1.0)", "WF820"),
        (f"k<<<1, 1>>>(f32[2x{MANY}], 1, 1.0)", "WF820"),
        (f"k<<<1, 1>>>(f32[1], {MANY}, 1.0)", "WF820"),
        (f"k<<<1, 1>>>(f32[1], 0x{'f' * 5000}, 1.0)", "WF820"),
        (f"k<<<1, 1>>>(f32[1], 1, 0.5{MANY}x)", "WF820"),
        ("k<<<1, 1>>>(f32[1], 1, 1e999)", "WF820"),
        ("k<<<1, 1>>>(f32[1]=1e999, 1, 1.0)", "WF820"),
        ("k<<<09, 1>>>(f32[1], 1, 1.0)", "WF820"),
        ("k<<<1, 1>>>(f32[1], -99999999999, 1.0)", "WF822"),
        ("k<<<1, 1>>>(f32[99999999999999], 1, 1.0)", "WF825"),
        ("k<<<99999999999, 1>>>(f32[1], 1, 1.0)", "WF708"),
        ("k<<<1, 99999>>>(f32[1], 1, 1.0)", "WF708"),
        ("k<<<(2147483647,65535,65535), 1>>>(f32[1], 1, 1.0)", "WF726"),
        ("k<<<1, 1, 99999999999>>>(f32[1], 1, 1.0)", "WF709"),
        ("k<<<1, 1, 0, 99999999>>>(f32[1], 1, 1.0)", "WF708"),
        ("x" * 5000, "WF820"),
    ],
)
def test_launches_that_ask_for_too_much(text: str, code: str, path: str) -> None:
    begin = perf_counter()
    said = launched(text, path)
    assert said.startswith(code), said
    assert perf_counter() - begin < SECOND


@pytest.mark.parametrize("seed", range(4))
def test_mutants_of_launches(seed: int, path: str) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        words = re.findall(r"<<<|>>>|[\w.]+|.", rng.choice(LAUNCHES))
        for _ in range(rng.choice([1, 1, 2, 3])):
            at = rng.randrange(len(words))
            words[at] = rng.choice([*EVIL, *words, "inf", "nan", "null", "hex:", "hex:00", "bf16", "x", "uninit", "2x"])
        said = launched("".join(words), path)
        assert re.match(r"WF\d\d\d: |$", said), said
