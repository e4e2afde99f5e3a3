"""Runs the tests that changed files need, within a time: ``python tests/quick.py [--since COMMIT] [--seconds 90]``.

Changed are files that differ from COMMIT, by default the last commit, or the one before it in a clean tree. Tests that
changed themselves run first. Of the others run those that run a changed function, by ``tests/data/touches.xz``: changed
functions take turns, and each brings first the tests that run little else. What the time leaves out is said.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mutants import PACKAGE
from touched import ROOT, Touched

ALWAYS = ("tests/test_layout.py",)
FOUND = 0.5
"""Seconds that importing a file of tests takes."""


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout


def changed_files(since: str) -> list[str]:
    """Files that differ from the commit, and new ones that are not ignored."""
    listed = git("diff", "--name-only", "--diff-filter=d", since) + git("ls-files", "-o", "--exclude-standard")
    return sorted(set(listed.split()))


def functions(text: str) -> dict[str, str]:
    """The code of each function of a module by its name, without places and comments; the module's own is ``""``."""
    found: dict[str, str] = {}

    def walk(node: ast.AST, outer: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                if isinstance(child, ast.FunctionDef):
                    found[".".join((*outer, child.name))] = ast.dump(child)
                walk(child, (*outer, child.name))

    tree = ast.parse(text)
    walk(tree, ())
    found[""] = ast.dump(ast.Module([n for n in tree.body if not isinstance(n, ast.FunctionDef | ast.ClassDef)], []))
    return found


def changed_functions(file: str, since: str) -> set[str]:
    """Functions of a file of the package that differ; all of them if something outside of functions does."""
    now = functions((ROOT / file).read_text())
    before = functions(git("show", f"{since}:{file}"))
    different = {name for name in now | before if now.get(name) != before.get(name)}
    return set(now | before) if "" in different else different


def chosen(names: list[str], touched: Touched, seconds: float) -> tuple[list[str], int]:
    """Tests of the functions within a time, functions taking turns; and how many tests the time left out."""
    every = {test for name in names for test in touched.runs[name]}
    turns: list[Iterator[str]] = [iter(touched.ordered(touched.runs[name])) for name in names]
    taken: dict[str, None] = {}
    files: set[str] = set()
    while turns and seconds > 0:
        for turn in list(turns):
            test = next((test for test in turn if test not in taken), None)
            if test is None:
                turns.remove(turn)
            elif (cost := touched.seconds(test) + FOUND * (test.partition("::")[0] not in files)) <= seconds:
                taken[test] = None
                files.add(test.partition("::")[0])
                seconds -= cost
    return list(taken), len(every) - len(taken)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", metavar="COMMIT", help="what the files are compared with")
    parser.add_argument("--seconds", type=float, default=90, help="processor time of the tests that are chosen")
    asked = parser.parse_args()
    since = asked.since or ("HEAD" if git("status", "--porcelain") else "HEAD~1")
    files = changed_files(since)
    touched = Touched()
    tests = [file for file in files if Path(file).name.startswith("test_") and file.endswith(".py")]
    sources = [file for file in files if file.startswith(tuple(f"{f}/" for f in PACKAGE)) and file.endswith(".py")]
    names = sorted(f"{file}:{name}" for file in sources for name in changed_functions(file, since) if name)
    files_of = {test: test.partition("::")[0] for test in touched.tests}
    own = [test for test, file in files_of.items() if file in {*tests, *ALWAYS}]
    picked, left = chosen(names, touched, asked.seconds - sum(map(touched.seconds, own)))
    print(f"since {since}: {len(names)} functions in {len(sources)} files, and {len(tests)} files of tests changed;")
    print(f"{len(picked)} tests of the functions run, and {left} more would take longer than that", flush=True)
    run = sorted({file for file in {*ALWAYS, *tests, *(files_of[test] for test in picked)} if (ROOT / file).exists()})
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.write("\n".join([*ALWAYS, *tests, *picked]))
        listed.flush()
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(os.cpu_count()), "--only", listed.name]
        return subprocess.run([*command, *run], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
