"""Plants faults in the package, one at a time, and counts how many the tests see.

    python tests/mutants.py draw FILE [--count 120] [--seed 1] [--under FOLDER]   draws by files' share of the code
    python tests/mutants.py run FILE [--jobs N] [--seconds 60]    runs the tests of each, and keeps the answer in FILE
    python tests/mutants.py table FILE [FILE...]                  the share that is seen, by folder
    python tests/mutants.py show FILE [NUMBER...]                 what was not seen

A fault is one change of one expression or statement, of the kinds that people make (``KINDS``). It is planted in a copy
of the tree. The tests that run the faulty function, as ``make touches`` recorded them, run in the order of how little
else they run, until one fails or the time is spent. A fault that no test sees is read: it changes nothing that anybody
could see (``run`` keeps the reason that is written into its row as ``excused``), or a test is missing.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from touched import ROOT, Touched, spared

PACKAGE = ("cli", "commands", "compiler", "passes", "runtime")
# What no test of a machine without a GPU can see: other libraries' kernels as peers.
LEFT_OUT = ("commands/bench/peers/",)

Change = Callable[[ast.AST], ast.AST | None]

TURNED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "first": "last", "last": "first"}
TYPES = {
    "f32": "f64",
    "f64": "f32",
    "f16": "bf16",
    "bf16": "f16",
    "i32": "i64",
    "i64": "i32",
    "i8": "u8",
    "u8": "i8",
    "u32": "i32",
    "u64": "i64",
    "float32": "float64",
    "float64": "float32",
    "int32": "int64",
    "int64": "int32",
    "uint32": "int32",
}
ORDER = ("barrier", "fence", "sync", "wait", "arrive", "commit", "flush", "release", "acquire")


def turned(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.Compare) or type(node.ops[0]) not in TURNED:
        return None
    node.ops[0] = TURNED[type(node.ops[0])]()
    return node


def off_by_one(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.Constant) or type(node.value) is not int:
        return None
    node.value += 1
    return node


def negated(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.If | ast.IfExp):
        return None
    node.test = ast.UnaryOp(ast.Not(), node.test)
    return node


def never(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.If):
        return None
    node.test = ast.Constant(False)
    return node


def swapped(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv | ast.Mod | ast.LShift):
        node.left, node.right = node.right, node.left
        return node
    if isinstance(node, ast.Call) and len(node.args) >= 2 and not any(isinstance(a, ast.Starred) for a in node.args):
        node.args[0], node.args[1] = node.args[1], node.args[0]
        return node
    return None


def other_operator(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        node.op = OPERATORS[type(node.op)]()
        return node
    if isinstance(node, ast.Name) and node.id in NAMES and isinstance(node.ctx, ast.Load):
        node.id = NAMES[node.id]
        return node
    return None


def unordered(node: ast.AST) -> ast.AST | None:
    """A barrier, a fence or another wait left out."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return None
    name = ast.unparse(node.value.func).lower()
    return ast.Pass() if any(word in name for word in ORDER) else None


def left_out(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return None
    return ast.Pass()


def doubled(node: ast.AST) -> ast.AST | None:
    """A distance or a size doubled."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult | ast.FloorDiv | ast.LShift):
        return None
    return ast.BinOp(node, ast.Mult(), ast.Constant(2))


def wrong_axis(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.keyword) and node.arg in ("axis", "dim", "dims", "axes"):
        node.value = ast.Constant(0)
        return node
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.UnaryOp) and ast.unparse(node.slice) == "-1":
        node.slice = ast.Constant(0)
        return node
    return None


def unmasked(node: ast.AST) -> ast.AST | None:
    """One part of a condition dropped, or one case of a choice."""
    if isinstance(node, ast.BoolOp):
        return node.values[0] if len(node.values) == 2 else ast.BoolOp(node.op, node.values[:-1])
    if isinstance(node, ast.IfExp):
        return node.body
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("select") and len(node.args) == 3:
        return node.args[1]
    return None


def wrong_type(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in TYPES:
        node.value = TYPES[node.value]
        return node
    if isinstance(node, ast.Attribute) and node.attr in TYPES:
        node.attr = TYPES[node.attr]
        return node
    if isinstance(node, ast.Name) and node.id in TYPES and isinstance(node.ctx, ast.Load):
        node.id = TYPES[node.id]
        return node
    return None


KINDS: dict[str, Change] = {
    "comparison turned": turned,
    "constant off by one": off_by_one,
    "condition negated": negated,
    "branch dropped": never,
    "operands swapped": swapped,
    "other operator": other_operator,
    "barrier left out": unordered,
    "statement left out": left_out,
    "distance doubled": doubled,
    "wrong axis": wrong_axis,
    "mask dropped": unmasked,
    "wrong type": wrong_type,
}


def places(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Each changeable node inside of a function with the name of that function; annotations and texts are none."""

    def walk(node: ast.AST, outer: tuple[str, ...], inside: bool) -> Iterator[tuple[str, ast.AST]]:
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "type_params", "type_comment"):
                continue
            if isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and ast.unparse(node.func) == "error"):
                continue  # words of a message; that one is raised is another node's matter
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST):
                    continue
                is_function = isinstance(child, ast.FunctionDef)
                if isinstance(child, ast.FunctionDef | ast.ClassDef):
                    yield from walk(child, (*outer, child.name), inside or is_function)
                    continue
                if isinstance(child, ast.JoinedStr):
                    continue
                if inside and hasattr(child, "lineno"):
                    yield ".".join(outer), child
                yield from walk(child, outer, inside)

    yield from walk(tree, (), False)


def planted(source: str, node: ast.AST, change: Change) -> tuple[str, str, str] | None:
    """The source with the change, and what stood there before and stands there after; None if nothing changes."""
    before = ast.get_source_segment(source, node)
    changed = change(copy.deepcopy(node))
    if before is None or changed is None:
        return None
    if isinstance(node, ast.If):  # only the condition is written anew
        before, node, changed = ast.get_source_segment(source, node.test) or "", node.test, changed.test  # type: ignore[attr-defined]
    after = ast.unparse(changed)
    if isinstance(node, ast.expr) and isinstance(changed, ast.expr):
        after = f"({after})"
    if isinstance(node, ast.expr) and ast.dump(ast.parse(f"({before})")) == ast.dump(ast.parse(after)):
        return None
    lines = source.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset  # type: ignore[attr-defined]
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset  # type: ignore[attr-defined]
    text = source.encode()
    whole = (text[:start] + after.encode() + text[end:]).decode()
    try:
        ast.parse(whole)
    except SyntaxError:
        return None
    return whole, before, after


def draw(count: int, seed: int, under: str) -> list[dict[str, Any]]:
    """Faults drawn by lines of code first, then by kind, so that rare kinds are tried as often as frequent ones."""
    rng = random.Random(seed)
    files = [
        file
        for file in subprocess.check_output(["git", "ls-files", *PACKAGE], cwd=ROOT, text=True).split()
        if file.endswith(".py") and file.startswith(under) and not file.startswith(LEFT_OUT)
    ]
    sources = {file: (ROOT / file).read_text() for file in files}
    lines = [source.count("\n") for source in sources.values()]
    faults: list[dict[str, Any]] = []
    seen = set()
    while len(faults) < count:
        (file,) = rng.choices(files, lines)
        source = sources[file]
        kind = rng.choice(list(KINDS))
        options = [(f, n) for f, n in places(ast.parse(source)) if KINDS[kind](copy.deepcopy(n)) is not None]
        if not options:
            continue
        function, node = rng.choice(options)
        made = planted(source, node, KINDS[kind])
        key = (file, node.lineno, node.col_offset, kind)  # type: ignore[attr-defined]
        if made is None or key in seen:
            continue
        seen.add(key)
        faults.append({"file": file, "line": key[1], "column": key[2], "function": function, "kind": kind,
                       "before": made[1], "after": made[2]})  # fmt: skip
    return faults


def text_with(fault: dict[str, Any]) -> str:
    """The file's text with the fault, found again by function, kind and what stands there if lines have moved."""
    source = (ROOT / fault["file"]).read_text()
    found = [
        (abs(node.lineno - fault["line"]), made[0])  # type: ignore[attr-defined]
        for function, node in places(ast.parse(source))
        if function == fault["function"]
        and (made := planted(source, node, KINDS[fault["kind"]])) is not None
        and made[1:] == (fault["before"], fault["after"])
    ]
    if not found:
        raise LookupError(f"{fault['file']}:{fault['line']} has changed")
    return min(found)[1]


def tests_of(fault: dict[str, Any], touched: Touched, left_out: set[str], seconds: float) -> list[str]:
    """Tests that run the faulty function, or else its file, or are in its folder, within a time; its own come first."""
    name, place = f"{fault['file']}:{fault['function']}", Path(fault["file"])
    names = [name] if name in touched.runs else [n for n in touched.runs if n.startswith(fault["file"] + ":")]
    tests = touched.ordered({test for name in names for test in touched.runs[name]})
    mirror = f"/test_{place.stem.strip('_')}"
    own = [test for test in tests if mirror in test.partition("::")[0]]
    beside = [test for test in touched.tests if test.startswith(f"tests/{place.parent}/")]  # whose processes run it
    chosen: dict[str, None] = {}
    for test in [*own[:200], *tests, *touched.ordered(beside)]:
        if test not in chosen and test not in left_out and touched.seconds(test) <= seconds:
            chosen[test] = None
            seconds -= touched.seconds(test)
    return list(chosen)


def copy_of_tree(folder: Path) -> Path:
    """The tracked files, and those that are not ignored, as a package named warpfold."""
    tree = folder / "warpfold"
    listed = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, text=True)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tree / name)
    return tree


def tried(tree: Path, fault: dict[str, Any], tests: list[str], limit: float) -> dict[str, Any]:
    """Runs the tests on the tree with the fault: which one failed first, or that none did."""
    place = tree / fault["file"]
    original = place.read_text()
    begun = time.monotonic()
    try:
        place.write_text(text_with(fault))
        verdict = first_failure(tree, fault, tests, limit)
    finally:
        place.write_text(original)
    return {**verdict, "seconds": round(time.monotonic() - begun, 1), "tests": len(tests)}


def first_failure(tree: Path, fault: dict[str, Any], tests: list[str], limit: float) -> dict[str, Any]:
    cache = tree.parent / "cache"
    if not fault["file"].startswith(("commands/", "cli/", "runtime/emulator/")):
        shutil.rmtree(cache, ignore_errors=True)  # kernels of a faulty compiler are nobody else's
    environment = {**os.environ, "PYTHONPATH": str(tree.parent), "WARPFOLD_CACHE_DIR": str(cache)}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    own, every = lit(tree, fault)
    for command in (own, pytest(tree, tests, files[:3]), pytest(tree, tests, files[3:15]), every):
        if not command:
            continue
        process = subprocess.Popen(
            command, cwd=tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            process_group=0,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return {"seen": f"took more than {limit:.0f} s"}
        if process.returncode != 0:
            failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR", "FAIL:"))]
            if not failed and "no tests ran" in output:
                return {"seen": "", "problem": output[-400:]}
            return {"seen": (failed or output.strip().splitlines()[-1:] or ["died"])[0].partition(" - ")[0][:300]}
    return {"seen": ""}


def lit(tree: Path, fault: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The lit tests of the pass or op that the fault's file holds, and all of them where they run the file."""
    if not fault["file"].startswith(("passes/", "compiler/ir/", "compiler/driver/")):
        return [], []
    name = Path(fault["file"]).stem.replace("_", "-")
    named = {name, f"{name}-invalid", f"{name}_invalid"}
    own = [str(file) for file in (tree / "dialect_tests").rglob("*.mlir") if file.stem in named]
    start = [str(Path(sys.executable).parent / "lit"), "--quiet", "-j1"]
    return [*start, *own] if own else [], [*start, str(tree / "dialect_tests")]


def pytest(tree: Path, tests: list[str], files: list[str]) -> list[str]:
    """Runs those tests that are in the files; few files first, since finding the tests of a file takes time, too."""
    chosen = tree.parent / "chosen"
    chosen.write_text("\n".join(tests))
    options = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:randomly"]
    return [sys.executable, "-m", "pytest", *options, "--only", str(chosen), *files] if files else []


def run(file: Path, jobs: int, seconds: float, again: bool) -> None:
    """Tries every fault that has no answer yet; ``again`` also those that were not seen."""
    faults = json.loads(file.read_text())
    touched = Touched()
    left_out = spared(touched.tests)  # what make check does not run sees nothing
    waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    for fault in faults:
        if "seen" not in fault or (again and not fault["seen"] and "excused" not in fault):
            waiting.put(fault)
    lock = threading.Lock()

    def work() -> None:
        with tempfile.TemporaryDirectory(prefix="warpfold-mutants-") as folder:
            tree = copy_of_tree(Path(folder))
            while not waiting.empty():
                fault = waiting.get()
                try:
                    verdict = tried(tree, fault, tests_of(fault, touched, left_out, seconds), 4 * seconds + 60)
                except LookupError as gone:
                    verdict = {"problem": str(gone)}
                with lock:
                    fault.pop("problem", None)
                    fault.update(verdict)
                    file.write_text(json.dumps(faults, indent=1))
                    place = f"{fault['file']}:{fault['line']} {fault['kind']}"
                    print(
                        f"{verdict.get('seconds', 0):6.1f} s  {place}: {verdict.get('seen') or 'NOT SEEN'}", flush=True
                    )

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def folder_of(file: str) -> str:
    """The row of the table that a file counts in."""
    for part in ("compiler/program/rewrites", "compiler/program/gradients", "compiler/program", "compiler/planner",
                 "runtime/emulator/sanitizer", "runtime/emulator"):  # fmt: skip
        if file.startswith(part + "/"):
            return part
    return file.partition("/")[0]


def table(files: list[Path]) -> str:
    faults = [fault for file in files for fault in json.loads(file.read_text()) if "seen" in fault]
    every, seen, excused = Counter[str](), Counter[str](), Counter[str]()
    for fault in faults:
        for row in (folder_of(fault["file"]), "all"):
            every[row] += 1
            seen[row] += bool(fault["seen"])
            excused[row] += "excused" in fault
    rows = [f"{'folder':28} faults  equal  seen  share"]
    for row in sorted(every, key=lambda row: (row == "all", row)):
        real = every[row] - excused[row]
        rows.append(f"{row:28} {every[row]:6} {excused[row]:6} {seen[row]:5} {seen[row] / real if real else 1:6.0%}")
    return "\n".join(rows)


def show(file: Path, numbers: list[int]) -> None:
    for number, fault in enumerate(json.loads(file.read_text())):
        if number in numbers or (not numbers and fault.get("seen") == "" and "excused" not in fault):
            place = f"{fault['file']}:{fault['line']} {fault['function']}"
            print(f"{number}  {place}: {fault['kind']} ({fault.get('tests')} tests)")
            print(f"    - {fault['before']}\n    + {fault['after']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("draw")
    one.add_argument("--count", type=int, default=120)
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--under", default="", help="draw from this folder only")
    one.add_argument("file", type=Path)
    one = commands.add_parser("run")
    one.add_argument("file", type=Path)
    one.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    one.add_argument("--seconds", type=float, default=60.0, help="processor time of the tests of a fault, as recorded")
    one.add_argument("--again", action="store_true", help="also faults that no test saw before")
    one = commands.add_parser("table")
    one.add_argument("file", type=Path, nargs="+")
    one = commands.add_parser("show")
    one.add_argument("file", type=Path)
    one.add_argument("number", type=int, nargs="*")
    asked = parser.parse_args()
    if asked.command == "draw":
        asked.file.write_text(json.dumps(draw(asked.count, asked.seed, asked.under), indent=1))
    elif asked.command == "run":
        run(asked.file, asked.jobs, asked.seconds, asked.again)
    elif asked.command == "table":
        print(table(asked.file))
    else:
        show(asked.file, asked.number)


if __name__ == "__main__":
    main()
