"""``warpfold-opt``: runs a pass pipeline over MLIR text, like ``mlir-opt``, with the fold dialect and our passes.

Reads one file or standard input; writes the IR to standard output or ``-o``, and diagnostics to standard error as
``FILE:LINE:COL: error: text``. Our passes and upstream's mix in one pipeline and in one pass manager.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .compiler import files
from .compiler.driver.pipeline import printed
from .compiler.driver.textual_pipeline import build
from .compiler.errors import FileError, WarpfoldError, error
from .compiler.ir.dialect import load
from .compiler.ir.expected_diagnostics import Diagnostic, expectations, mismatches
from .compiler.ir.locations import position
from .compiler.ir.mlir import ir
from .compiler.standard_streams import settle, silence
from .passes import PASSES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

INTERRUPTED, CLOSED = 130, 141
"""The exit codes that a shell reports for SIGINT and SIGPIPE."""
_SEPARATOR = "// -----"
_HELP = """\
examples:
  warpfold-opt sum.mlir
  warpfold-opt sum.mlir --pass-pipeline='builtin.module(distribute,canonicalize,gpu.module(cse))'
  warpfold-opt bad.mlir --split-input-file --verify-diagnostics
"""


@dataclass(frozen=True)
class Chunk:
    """A part of the input between separators. ``text`` is padded so that its lines carry the file's numbers."""

    text: str
    first_line: int

    @property
    def lines(self) -> list[str]:
        """The lines of the part itself."""
        return self.text.splitlines()[self.first_line - 1 :]


def chunks(text: str, *, split_input: bool) -> list[Chunk]:
    """The parts of an input: one, or those between ``// -----`` lines."""
    if not split_input:
        return [Chunk(text, 1)]
    parts: list[Chunk] = []
    lines: list[str] = []
    first = 1
    for number, line in enumerate([*text.splitlines(), _SEPARATOR], start=1):
        if line.strip() == _SEPARATOR:
            parts.append(Chunk("\n" * (first - 1) + "\n".join(lines), first))
            lines, first = [], number + 1
        else:
            lines.append(line)
    return parts


class Tool:
    """One run of the command: options, the MLIR context, and where diagnostics go."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.file = "<stdin>" if options.input == "-" else options.input
        self.context = ir.Context()
        self.context.enable_multithreading(False)  # IR printing needs it, and the modules are small
        self.context.emit_error_diagnostics = True  # else errors go into the exception only
        self.context.allow_unregistered_dialects = options.allow_unregistered_dialect

    def run(self, text: str) -> tuple[str, bool]:
        """The output for the whole input, and whether every part did as it should."""
        outputs = []
        fine = True
        with self.context:
            load(self.context)
            self._build()  # a pipeline that does not parse is found before any input is read
            for chunk in chunks(text, split_input=self.options.split_input_file):
                output, ok = self._chunk(chunk)
                fine &= ok
                if output is not None:
                    outputs.append(output)
        return f"{_SEPARATOR}\n".join(outputs), fine

    def _chunk(self, chunk: Chunk) -> tuple[str | None, bool]:
        came: list[Diagnostic] = []
        show = came.append if self.options.verify_diagnostics else self._show
        output = self._process(chunk.text, show)
        if not self.options.verify_diagnostics:
            return output, output is not None
        try:
            wrong = mismatches(expectations(chunk.lines, chunk.first_line), came)
        except ValueError as problem:
            wrong = [Diagnostic("error", None, 0, str(problem))]
        for diagnostic in wrong:
            self._show(diagnostic)
        return output, not wrong

    def _process(self, text: str, show: Callable[[Diagnostic], None]) -> str | None:
        """The printed IR after the pipeline, or None after diagnostics that say why there is none."""
        shown = list[Diagnostic]()

        def report(d: Diagnostic) -> None:
            shown.append(d)
            show(d)

        handler = self.context.attach_diagnostic_handler(lambda d: _report(d, report))
        try:
            module = ir.Module.parse(text)
            self._build().run(module.operation)
        except ir.MLIRError as problem:  # its diagnostics went through the handler, but for a few of the parser's
            if not shown:
                show(Diagnostic("error", None, 0, str(problem)))
            return None
        except WarpfoldError as problem:
            place = problem.location
            body = f"{problem.code}: {problem.message}" + (f"\n  help: {problem.remedy}" if problem.remedy else "")
            show(Diagnostic("error", place.line if place else None, 0, body))
            return None
        finally:
            handler.detach()
        return printed(
            module.operation,
            print_generic_op_form=self.options.mlir_print_op_generic,
            enable_debug_info=self.options.mlir_print_debuginfo,
        )

    def _build(self) -> Any:
        manager = build(self.options.pass_pipeline, PASSES)
        manager.enable_verifier(not self.options.no_verify)
        before, after = self.options.mlir_print_ir_before_all, self.options.mlir_print_ir_after_all
        if before or after:
            manager.enable_ir_printing(
                print_before_all=before,
                print_after_all=after,
                print_generic_op_form=self.options.mlir_print_op_generic,
                enable_debug_info=self.options.mlir_print_debuginfo,
            )
        return manager

    def _show(self, d: Diagnostic) -> None:
        column = f":{d.column}" if d.column else ""
        place = "" if d.line is None else f":{d.line}{column}"
        print(f"{self.file}{place}: {d.kind}: {d.text}", file=sys.stderr, flush=True)


def _report(info: Any, show: Callable[[Diagnostic], None]) -> bool:
    """Hands an MLIR diagnostic and its notes on; True tells MLIR that it was handled.

    The note that repeats the whole operation is left out, as mlir-opt does when it verifies diagnostics.
    """
    place = position(info.location)
    line, column = (place.line, place.column) if place else (None, 0)
    show(Diagnostic(info.severity.name.lower(), line, column, info.message))
    for note in info.notes:
        if not note.message.startswith("see current operation"):
            _report(note, show)
    return True


def _read(path: str) -> str:
    """The text of the input, up to the size that is read at once.

    Raises:
        FileError: WF591.
    """
    try:
        if path != "-":
            return files.read_text(path, "WF591")
        text = sys.stdin.read(files.MOST + 1)
    except FileError:
        raise
    except (OSError, UnicodeDecodeError) as problem:
        shown = "standard input" if path == "-" else path
        raise error("WF591", path=shown, reason=getattr(problem, "strerror", None) or problem) from problem
    if len(text) > files.MOST:
        raise error("WF591", path="standard input", reason=f"it has more than {files.MOST} characters")
    return text


def _print(text: str) -> None:
    """Writes to standard output.

    Raises:
        FileError: WF592, but for a reader that left early: BrokenPipeError.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as problem:
        silence()
        if isinstance(problem, BrokenPipeError):
            raise
        raise error("WF592", path="standard output", reason=problem.strerror or problem) from problem


def _list_passes() -> str:
    width = max((len(p.name) for p in PASSES), default=0)
    return "".join(f"{p.name:<{width}}  {p.summary}\n" for p in PASSES)


class _Parser(argparse.ArgumentParser):
    """A parser whose help goes where the output goes."""

    def print_help(self, _file: object = None) -> None:
        """Prints the help; argparse itself says nothing where it cannot."""
        _print(self.format_help())


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="warpfold-opt",
        description="run a pass pipeline over MLIR text, with the fold dialect and warpfold's passes",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("input", nargs="?", default="-", metavar="FILE", help="MLIR text; - (the default) is standard input")
    add("-o", dest="output", default="-", metavar="PATH", help="where the IR goes; - (the default) is standard output")
    add("--pass-pipeline", default="", metavar="TEXT", help="what to run; nothing: parse, verify and print")
    add("--split-input-file", action="store_true", help=f"treat the parts between {_SEPARATOR} lines as inputs")
    add("--verify-diagnostics", action="store_true", help="check the diagnostics against expected-error comments")
    add("--no-verify", action="store_true", help="do not verify the IR between passes")
    add("--allow-unregistered-dialect", action="store_true", help="accept operations of dialects that are not loaded")
    add("--mlir-print-ir-before-all", action="store_true", help="print the IR before each pass")
    add("--mlir-print-ir-after-all", action="store_true", help="print the IR after each pass")
    add("--mlir-print-op-generic", action="store_true", help="print operations in the generic form")
    add("--mlir-print-debuginfo", action="store_true", help="print locations")
    add("--list-passes", "--show-pipelines", action="store_true", help="print warpfold's passes in order, and stop")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; 0 when every part of the input did as it should, else 1."""
    settle("utf-8")
    try:
        options = _parser().parse_args(argv)
        if options.list_passes:
            _print(_list_passes())
            return 0
        if options.output != "-":
            files.expect_writable(options.output, "WF592")
        output, fine = Tool(options).run(_read(options.input))
        if options.output == "-":
            _print(output)
        elif fine:
            files.write(options.output, lambda f: f.write(output.encode()), "WF592")
    except WarpfoldError as problem:
        print(f"warpfold-opt: error: {problem}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return CLOSED
    except KeyboardInterrupt:
        print("warpfold-opt: interrupted: nothing was written", file=sys.stderr)
        return INTERRUPTED
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
