"""Runs ``warpfold-opt`` on mutants of the lit files, many in one process: ``python tests/altered_ir.py SEED COUNT``.

Each mutant is a part of a file with one to three random changes, and goes through the pipeline of that file, or through
all passes. What may come of it is output or a diagnostic. Before each the process says which one comes, so that one
that kills the process is known; it ends with 1 after a traceback, or after a failure without a word.
"""

from __future__ import annotations

import contextlib
import io
import random
import re
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

from warpfold import opt
from warpfold.passes import PASSES

FOLDERS = [Path(__file__).parent.parent / "dialect_tests" / name for name in ("dialect", "passes", "pipeline")]
ALL = ",".join(p.name for p in PASSES)
_SEPARATOR = "// -----"
_NUMBERS = ("0", "1", "-1", "2", "3", "33", "64", "1024", "4294967296", "9223372036854775807", "-9223372036854775808")
_TYPES = ("i1", "i8", "i16", "i32", "i64", "f16", "f32", "f64", "index", "none", "vector<4xf32>", "vector<2xi32>",
          "vector<3xi8>", "tuple<>", "tuple<f32, i32>", "tensor<?xf32>", "tensor<*xf32>", "tensor<f32>", "memref<1xi8>",
          "!llvm.ptr<1>", "!llvm.ptr<3>", "!llvm.ptr", "complex<f32>", "f8E4M3FN")  # fmt: skip
_VALUES = (*_NUMBERS, '"reduced"', '"strided"', '""', "true", "false", "unit", "[]", "{}", "array<i64: 7>", "1.5 : f32")
_TYPE = re.compile(r"\b(?:i(?:1|8|16|32|64)|f(?:16|32|64))\b|!llvm\.ptr<\d>|tensor<[^<>]*>|vector<[^<>]*>")
_ATTRIBUTE = re.compile(r"(\w+)( = )([^,{}\[\]]+)(?=[,}])")
_OP = re.compile(r'"(?:fold\.\w+)"')


def inputs() -> list[tuple[str, str]]:
    """(part, pipeline) for each part of each lit file."""
    found = []
    for path in sorted(p for folder in FOLDERS for p in folder.glob("*.mlir")):
        text = path.read_text(encoding="utf-8")
        match = re.search(r"--pass-pipeline='(builtin[^']*)'", text)
        code = "\n".join(line for line in text.splitlines() if "//" not in line or line.startswith(_SEPARATOR))
        found += [(part, match[1] if match else "") for part in code.split(_SEPARATOR) if "{" in part]
    return found


# --- changes ---------------------------------------------------------------------------------------------------------
def _line_gone(text: str, r: random.Random) -> str:
    lines = text.splitlines()
    del lines[r.randrange(len(lines))]
    return "\n".join(lines)


def _lines_swapped(text: str, r: random.Random) -> str:
    lines = text.splitlines()
    i, j = r.randrange(len(lines)), r.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines)


def _line_twice(text: str, r: random.Random) -> str:
    lines = text.splitlines()
    i = r.randrange(len(lines))
    return "\n".join([*lines[:i], lines[i], *lines[i:]])


def _replaced(pattern: str | re.Pattern[str], text: str, r: random.Random, by: str) -> str:
    """``text`` with one match of ``pattern`` replaced."""
    matches = list(re.finditer(pattern, text))
    if not matches:
        return text
    m = r.choice(matches)
    return text[: m.start()] + by + text[m.end() :]


def _number(text: str, r: random.Random) -> str:
    return _replaced(r"(?<![\w%.])-?\d+(?![\w.])", text, r, r.choice(_NUMBERS))


def _type(text: str, r: random.Random) -> str:
    return _replaced(_TYPE, text, r, r.choice(_TYPES))


def _every_type(text: str, r: random.Random) -> str:
    old = r.choice(_TYPE.findall(text) or ["i32"])
    return text.replace(old, r.choice(_TYPES))


def _value(text: str, r: random.Random) -> str:
    matches = list(_ATTRIBUTE.finditer(text))
    if not matches:
        return text
    m = r.choice(matches)
    return text[: m.start(3)] + r.choice(_VALUES) + text[m.end(3) :]


def _attribute_gone(text: str, r: random.Random) -> str:
    return _replaced(r"\w+ = [^,{}\[\]]+, |, \w+ = [^,{}\[\]]+(?=})", text, r, "")


def _misspelt(text: str, r: random.Random) -> str:
    return _replaced(r"\w+(?= = [^%])", text, r, "misspelt")


def _operand(text: str, r: random.Random) -> str:
    names = re.findall(r"%\w+", text) or ["%x"]
    return _replaced(r"%\w+", text, r, r.choice(names))


def _operand_gone(text: str, r: random.Random) -> str:
    return _replaced(r"%\w+, |, %\w+(?=\))", text, r, "")


def _op(text: str, r: random.Random) -> str:
    names = _OP.findall(text) or ['"fold.yield"']
    return _replaced(_OP, text, r, r.choice([*names, '"fold.reduce"', '"fold.yield"', '"fold.store"']))


def _region_emptied(text: str, r: random.Random) -> str:
    """A region, from ``({`` or ``}, {`` on to the next brace at the begin of a line, without its ops."""
    return _replaced(r"(?<=\{)\n[^{}]*(?=\n\s*\})", text, r, "")


def _regions_swapped(text: str, r: random.Random) -> str:
    matches = list(re.finditer(r"\(\{([^{}]*)\}, \{([^{}]*)\}\)", text))
    if not matches:
        return text
    m = r.choice(matches)
    return text[: m.start()] + "({" + m[2] + "}, {" + m[1] + "})" + text[m.end() :]


def _region_from_outside(text: str, r: random.Random) -> str:
    """Code inside a region that yields a value from anywhere."""
    names = re.findall(r"%\w+", text) or ["%x"]
    return _replaced(r'(?<="fold\.yield"\()%\w+', text, r, r.choice(names))


def _character_gone(text: str, r: random.Random) -> str:
    i = r.randrange(len(text))
    return text[:i] + text[i + 1 :]


CHANGES = (
    _line_gone, _lines_swapped, _line_twice, _number, _number, _type, _type, _every_type, _value, _value,
    _attribute_gone, _attribute_gone, _misspelt, _operand, _operand, _operand_gone, _op, _region_emptied,
    _regions_swapped, _region_from_outside, _character_gone,
)  # fmt: skip


def mutants(seed: int, count: int) -> Iterator[tuple[str, str]]:
    """(text, pipeline) of ``count`` mutants, which the seed tells."""
    r, parts = random.Random(seed), inputs()
    for _ in range(count):
        text, pipeline = r.choice(parts)
        for _ in range(r.choice((1, 1, 1, 2, 3))):
            text = r.choice(CHANGES)(text, r) or "{"
        yield text, r.choice((pipeline, ALL, f"canonicalize,cse,{ALL}"))


def outcome(path: Path, text: str, pipeline: str) -> str:
    """What is wrong with how the tool ends for a mutant; nothing if nothing is."""
    path.write_text(text, encoding="utf-8")
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = opt.main([str(path), f"--pass-pipeline={pipeline}"])
    except Exception:
        return traceback.format_exc()
    said = err.getvalue()
    if (code == 0 and out.getvalue()) or (code == 1 and "error: " in said and "Traceback" not in said):
        return ""
    return f"exit code {code}, {said or 'without a word'}"


def main(seed: int, count: int) -> int:
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant.mlir"
        for number, (text, pipeline) in enumerate(mutants(seed, count)):
            print(f"mutant {number} of seed {seed}", flush=True)
            if found := outcome(path, text, pipeline):
                wrong += 1
                print(f"{text}\n--pass-pipeline='{pipeline}'\n{found}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
