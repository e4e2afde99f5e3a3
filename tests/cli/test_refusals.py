"""Requests that the command line refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from command_line import EXAMPLES, MONOIDS, SMALL, call, fails

from warpfold.runtime.backends import cuda_backend


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("run", "var", "--param", "correction"), "WF815: 'correction' is no parameter"),
        (
            ("run", "norm", "--param", "ord=3", "--param", "ord=4"),
            "WF817: parameter ord is given twice: 3 and 4\n  help: give it once",
        ),
        (("run", "sum", "--plan", "warps=8,simple"), "WF419: 'simple' is no key=value"),
        (("run", "var", "--param", "ddof=1"), "WF127: var takes no parameter 'ddof': it takes correction"),
        (
            ("run", "var", "--param", "correction=one"),
            "WF148: parameter 'correction' of var is 'one': expected a float",
        ),
        (
            ("run", "summ"),
            "WF801: no reduction or program is called 'summ' (did you mean sum or nansum?)\n  help: for one",
        ),
        (
            ("sanitize", "race.cu"),
            "WF801: no reduction or program is called 'race.cu': it looks like a file, and no Python",
        ),
        (("sanitize", "race.cu"), "help: compile it first: nvcc -ptx FILE.cu; run, profile and sanitize take FILE.ptx"),
        (("run", "p.mlir"), "help: MLIR goes through warpfold-opt FILE.mlir"),
        (("explain", "p.mlir:rows"), "it looks like a file, and no Python one\n  help: MLIR goes through warpfold-opt"),
        (("run", "x.npy"), "help: name first what to compute, and then the file: sum --input FILE.npy"),
        (
            ("run", "sum --input x.npy"),
            "WF801: no reduction or program is called 'sum --input x.npy': a name has no options in it\n"
            "  help: leave out the quotes",
        ),
        (("run", "zzz"), "WF801: no reduction or program is called 'zzz': expected one of sum prod min"),
        (("run", "nofile.py::rows"), "WF804: cannot read nofile.py: "),  # as pytest writes it
        (("run", "sum", "--shape", "4by4"), "WF802: '4by4' is not a shape\n  help: write whole sizes with x between"),
        (("run", "sum", "--shape", "-3x4"), "WF802: '-3x4' is not a shape"),
        (("run", "sum", "--shape", "x".join("1" * 65)), "1x1' is not a shape: it has 65 sizes, expected at most 64\n"),
        (("profile", "sum", "--shape", "x".join("1" * 65)), "WF802: '1x1x"),
        (
            ("run", "sum", "--shape", f"0x{'9' * 20}", "--axis", "0"),
            "WF802: '0x99999999999999999999' is not a shape: expected fewer than 2^63 elements\n  help: write whole",
        ),
        (("run", "sum", "--shape", "0x4611686018427387904x2"), "is not a shape: expected fewer than 2^63 elements"),
        (("explain", "sum", "--shape", "99999999999999999999x4"), "is not a shape: expected fewer than 2^63 elements"),
        (("compile", "sum", "--shape", "3037000500x3037000500"), "is not a shape: expected fewer than 2^63 elements"),
        (("run", "sum", "--shape", "9" * 5000), "is not a shape: expected fewer than 2^63 elements"),
        (
            ("run", "sum", "--shape", "0x1000000000000000", "--axis", "0"),
            "WF811: arrays of shape 0x1000000000000000 and their results take 3638 TiB: this machine has ",
        ),
        (("run", "sum", "--axis", "rows"), "WF803: 'rows' names no axes"),
        (("run", "sum", "--axis", ""), "WF803: '' names no axes"),
        (("run", "sum", *SMALL, "--axis", "2"), "WF101: axis 2 is out of range for an array of rank 2"),
        (("run", "sum", *SMALL, "--axis", "0,-2"), "WF102: axis -2 is repeated"),
        (("run", "max", "--shape", "4x0", "--axis", "1", "--device", "emulator"), "WF104: max of no elements"),
        (("run", "sum", "--dtype", "c32"), "WF105: no rule for elements of type c32"),
        (("run", "sum", "--dtype", "f32,f64"), "WF808: --dtype f32,f64 names 2 types: expected one for all, or 1"),
        (
            ("run", "sum", "--shape", "1000000x1000000x1000"),
            "WF811: arrays of shape 1000000x1000000x1000 take 3638 TiB: this machine has ",
        ),
        (("run", "no_such.py:f"), "WF804: cannot read no_such.py: No such file or directory"),
        (("run", "sum", "--input", "no.npy"), "WF506: cannot read no.npy"),
        (("run", "sum", "--input", "no.npy", "--shape", "4"), "WF814: --input and --shape cannot be given together"),
        (("run", "sum", "--output", "/no/such/folder/out.npy"), "WF505: cannot write /no/such/folder/out.npy: No such"),
        (("run", "unique"), "; pack, unpack, unique and segment_reduce are there in Python alone"),
        (("run", "sum", "--output", ""), "WF505: cannot write '': it names no file\n  help: give a path"),
        (("run", "sum", "--output", "/dev"), "WF505: cannot write /dev: it is a folder: expected a regular file"),
        (("run", "sum", *SMALL, "--plan", "warp=3"), "WF402: a plan has no field 'warp' (did you mean warps"),
        (("run", "sum", *SMALL, "--plan", "warps=3"), "WF403: plan field warps cannot be "),
        (("run", "sum", *SMALL, "--plan", "warps=32,warps_kept=2"), "WF404: the plan needs"),
        (("explain", "sum", "--arch", "sm_99"), "WF401: no target is called 'sm_99'"),
        (("compile", "sum", "--emit", "artifact"), "WF812: an artifact is a file and needs a path\n  help: add -o"),
        (("compile", "sum", "--json"), "WF813: ptx has no JSON form\n  help: use --json with --emit plan\n"),
        (
            ("compile", "sum", "--emit", "llvm", "--changes"),
            "WF813: llvm has no changes\n  help: use --changes with --emit s",
        ),
        (
            ("compile", "sum", "--names"),
            "WF813: ptx has no named values\n  help: use --names with --emit program or --emit stages or --emit llvm",
        ),
        (
            ("compile", "sum", "--emit", "plan", "--locations"),
            "WF813: plan has no locations\n  help: use --locations with",
        ),
        (("run", "sum", "--device", "gpu"), "'gpu' is not one of 'auto', 'cuda', 'emulator'"),
        (("run", "sum", "--seed", "-1"), "-1 is not in the range"),
        (("run",), "Missing argument 'OP'"),
    ],
)
def test_bad_requests(words: tuple[str, ...], text: str) -> None:
    assert text in fails(*words)


def test_the_largest_shapes_are_taken() -> None:
    assert "f32 9223372036854775807 over all axes" in call("explain", "sum", "--shape", str(2**63 - 1)).stdout
    assert "result   f32[]" in call("run", "sum", "--shape", "x".join("2" + "1" * 63), "--device", "emulator").stdout
    empty = call("run", "sum", "--shape", "0x3", "--axis", "0", "--device", "emulator").stdout
    assert "value    [0. 0. 0.]" in empty


def _npy(tmp_path: Path, kind: str) -> Path:
    path = tmp_path / f"{kind}.npy"
    if kind == "short":
        np.save(path, np.arange(1000.0))
        path.write_bytes(path.read_bytes()[:-100])
    elif kind == "pickled":
        np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    elif kind == "text":
        path.write_text("1 2 3")
    elif kind == "words":
        np.save(path, np.array(["one", "two"]))
    else:
        np.save(path, np.zeros(3, np.clongdouble))
    return path


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("short", "WF507: "),
        ("pickled", "WF508: "),
        ("text", "WF509: "),
        ("words", "WF105: no rule for elements of type"),
        ("complex", "WF105: no rule for elements of type complex256"),
    ],
)
def test_bad_files(tmp_path: Path, kind: str, text: str) -> None:
    output = tmp_path / "out.npy"
    assert text in fails("run", "sum", "--input", _npy(tmp_path, kind), "--output", output, "--device", "emulator")
    assert not output.exists()


def test_a_file_of_complex_numbers(tmp_path: Path) -> None:
    z = np.arange(12).reshape(3, 4) * (1 + 2j)
    np.save(tmp_path / "z.npy", z)
    words = ("--input", tmp_path / "z.npy", "--axis", "1", "--device", "emulator", "--output", tmp_path / "out.npy")
    assert "result   c128[3]" in call("run", "sum", *words).output
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), z.sum(1))
    assert "WF225: c128 has no order" in fails("run", "max", *words)


def test_inputs_of_several_shapes(tmp_path: Path) -> None:
    for name, n in (("a", 3), ("b", 4)):
        np.save(tmp_path / f"{name}.npy", np.ones(n, np.float32))
    both = ("--input", tmp_path / "a.npy", "--input", tmp_path / "b.npy")
    message = fails("run", f"{MONOIDS}:affine", *both)
    assert "WF809: " in message
    assert "b.npy has shape (4,): expected (3,), the shape of " in message
    assert "WF819: sum takes 1 input array(s), got 2 --input file(s)\n  help: give --input 1 time(s)" in fails(
        "run", "sum", *both
    )
    assert "WF819: dot takes 2 input array(s), got 1 --input file(s)" in fails("run", "dot", *both[:2])


USER_FILE = """\
import warpfold as wf

FACTOR = 2

@wf.monoid(identity=0)
def total(a, b):
    return a + b

@wf.monoid(identity=0.0)
def branches(a, b):
    return a if a > b else b

@wf.monoid(identity=0)
def two(a, b):
    return a, b

def unfolded(x):
    return x * x

def misspelt(x):
    return wf.fold(total, helper(x))

def helper(x):
    return wf.sqaured(x)

def captures(x):
    import numpy
    return wf.fold(total, x + numpy.ones(3))

def several(*xs):
    return wf.fold(total, xs[0] * xs[-1])

def unknown(x):
    return wf.fold(total, unhelpful(x))

def unhelpful(x):
    return x * factor
"""


def test_a_function_of_any_number_of_inputs(tmp_path: Path) -> None:
    path = tmp_path / "rows.py"
    path.write_text(USER_FILE)
    for kinds, shown in (("f32", ["f32"]), ("f32,f64", ["f32", "f64"])):
        result = call("run", f"{path}:several", *SMALL, "--dtype", kinds, "--json")
        assert json.loads(result.stdout)["dtypes"] == shown


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("totl", ["WF806: ", "called 'totl' (did you mean total?): it has total branches two"]),
        ("", ["WF818: ", "rows.py does not say what to compute: it has total branches", "rows.py:name with one"]),
        ("FACTOR", ["WF807: FACTOR of ", "is a int: expected a wf.monoid, a wf.program or a function"]),
        ("branches", ["WF201: ", "rows.py:11: return a if a > b else b", "wf.where"]),
        ("two", ["WF208: combine function two returns 2 value(s): expected 1", "rows.py:13"]),
        ("misspelt", ["WF175: warpfold has no sqaured", "rows.py:24: return wf.sqaured(x)"]),
        ("unknown", ["WF810: ", "NameError: name 'factor' is not defined", "from ",
                     "rows.py:34: return wf.fold(total, unhelpful(x))", "rows.py:37: return x * factor"]),
        ("captures", ["WF205: the function uses a value of type ndarray", "rows.py:28: return wf.fold(total, x"]),
    ],
)  # fmt: skip
def test_mistakes_in_the_users_file(tmp_path: Path, name: str, texts: Sequence[str]) -> None:
    path = tmp_path / "rows.py"
    path.write_text(USER_FILE)
    message = fails("run", f"{path}:{name}", *SMALL)
    for text in texts:
        assert text in message


def test_a_file_without_a_name(tmp_path: Path) -> None:
    path = tmp_path / "rows.py"
    path.write_text(USER_FILE)
    assert "it has total branches two unfolded misspelt helper captures several unknown unhelpful" in fails("run", path)


def test_a_file_that_does_not_import_shows_the_users_lines_only(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("import json\n\ndef read():\n    return json.loads('{')\n")
    path = tmp_path / "broken.py"
    path.write_text("import helper\n\nTABLE = helper.read()\n")
    lines = fails("explain", f"{path}:f").splitlines()
    assert lines[0].startswith(f"WF805: {path} does not import: JSONDecodeError: ")
    assert lines[1] == f"  from {path}:3: TABLE = helper.read()"
    assert lines[2] == f"  at {tmp_path}/helper.py:4: return json.loads('{{')"
    assert len(lines) == 4


def test_output_of_the_users_file_is_kept_out_of_the_answer(tmp_path: Path) -> None:
    """Neither output from loading the file nor output from tracing its functions is in the answer."""
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    path = tmp_path / "r.py"
    path.write_text(
        "".join(blocks) + "\ndef loud(x):\n    print('tracing')\n    return wf.sqrt(wf.fold(wf.SUM, x * x))\n"
    )
    result = call("run", f"{path}:loudness", "--shape", "4x4", "--device", "emulator", "--json")
    assert json.loads(result.stdout)["passed"] is True
    assert result.stderr.startswith("[5. 1.] [50.  4.]\n")
    for words in (("run", "--device", "emulator"), ("compile", "--emit", "plan"), ("spread", "--seeds", "1")):
        result = call(words[0], f"{path}:loud", "--shape", "4x4", *words[1:], "--json")
        assert "plan" in json.loads(result.stdout)
        assert "tracing\n" in result.stderr


def test_a_file_that_ends_the_process_does_not_import(tmp_path: Path) -> None:
    path = tmp_path / "exits.py"
    path.write_text("import sys\n\nsys.exit(3)\n")
    message = fails("run", f"{path}:f")
    assert f"WF805: {path} does not import: SystemExit: 3\n  at {path}:3: sys.exit(3)\n" in message


def test_a_file_with_a_syntax_error(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("x = 1\ndef f(:\n")
    message = fails("run", f"{path}:f")
    assert "does not import: SyntaxError: " in message
    assert f"at {path}:2: def f(:" in message


def test_cuda_without_cuda_is_refused() -> None:
    if cuda_backend.find():
        pytest.skip("tests the refusal without a CUDA device, and there is one")
    message = fails("run", "sum", "--shape", "4", "--device", "cuda")
    assert re.match("WF60[45]: ", message)
    assert message.endswith("or run on the emulator: device='emulator' (--device emulator)\n")
    said = " ".join(call("doctor").stdout.split())
    assert "or run on the emulator: device='emulator' (--device emulator), the default where no device is" in said
