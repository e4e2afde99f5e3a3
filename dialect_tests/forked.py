"""Runs ``warpfold-opt`` and ``FileCheck`` of RUN lines in forks of lit's workers, which have imported both.

Importing the MLIR bindings takes longer than what most RUN lines do. lit itself stays in charge of pipes, redirections,
``not``, limits of time and reports: only the start of a process differs.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from typing import Any
from unittest import mock

import lit.formats

TOOLS = {name: importlib.import_module(module) for name, module in
         (("warpfold.opt", "warpfold.opt"), ("filecheck", "filecheck.main"))}  # fmt: skip

_start = subprocess.Popen


class ForkedShTest(lit.formats.ShTest):
    """lit's format for shell scripts in which Python modules in ``TOOLS`` are not started, but forked."""

    def execute(self, test: Any, lit_config: Any) -> Any:
        with mock.patch.object(subprocess, "Popen", _forked):
            return super().execute(test, lit_config)


def _forked(args: list[str], **options: Any) -> subprocess.Popen[str]:
    command = args[args.index(sys.executable) :] if sys.executable in args else []
    if args[:1] != command[:1] or command[1:2] != ["-m"] or command[2] not in TOOLS:
        return _start(args, **options)
    return _start(args, preexec_fn=lambda: _run(command[2], command[3:], options.get("env")), **options)


def _run(tool: str, arguments: list[str], environment: dict[str, str] | None) -> None:
    """Never returns: this is the child, whose streams are in place, before the program that it does not become."""
    code = 1
    try:
        # Without the pipe that would tell the parent of a failed start, the parent goes on to the next command.
        os.closerange(3, os.sysconf("SC_OPEN_MAX") if os.sysconf("SC_OPEN_MAX") < 65536 else 65536)
        os.environ.update(environment or {})
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            setattr(sys, name, open(("stdin", "stdout", "stderr").index(name), mode, encoding="utf-8"))  # noqa: PTH123, SIM115
        sys.argv = [tool, *arguments]
        code = TOOLS[tool].main(arguments if tool == "warpfold.opt" else sys.argv) or 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException as problem:
        print(f"{tool}: {type(problem).__name__}: {problem}", file=sys.stderr)
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                code = code or 1
        os._exit(code)
