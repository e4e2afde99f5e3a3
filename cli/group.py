"""How a command ends: errors are printed to standard error without a traceback, and set the exit code."""

from __future__ import annotations

import errno
import re
import sys
import warnings
from typing import Any

import click

from ..compiler.standard_streams import silence

WRONG, USAGE, INTERRUPTED, CLOSED = 1, 2, 130, 141
"""Exit codes; the last two are what a shell reports for SIGINT and SIGPIPE."""


class Commands(click.Group):
    """The group of all commands, which turns warpfold's errors into exit code 2."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Parses the command line, and prints help where it is asked for."""
        try:
            return super().make_context(*args, **extra)
        except BrokenPipeError:  # click would exit with 1
            silence()
            sys.exit(CLOSED)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command."""
        from ..compiler.errors import WarpfoldError

        try:
            with warnings.catch_warnings():
                warnings.showwarning = _warn
                result = super().invoke(ctx)
            sys.stdout.flush()
        except WarpfoldError as e:
            click.echo(e.render(), err=True)
            ctx.exit(USAGE)
        except click.UsageError as e:
            raise _hinted(e) from None
        except KeyboardInterrupt:
            click.echo("interrupted: no result was written", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            silence()
            ctx.exit(CLOSED)
        except OSError as e:
            full(e)
            ctx.exit(USAGE)
        return result


def _hinted(e: click.UsageError) -> click.UsageError:
    """``e`` with a hint where arrays or a shape were given as arguments: they are options."""
    extra = re.search(r"extra arguments? \((.*)\)", e.message)
    takes = any("--input" in option.opts for option in e.ctx.command.params) if e.ctx else False
    hint = _option_for(extra[1].split()) if extra and takes else ""
    return click.UsageError(f"{e.message}: {hint}", e.ctx) if hint else e


def _option_for(words: list[str]) -> str:
    """The options to write for these words, if they are arrays or a shape; else nothing."""
    if all(word.endswith(".npy") for word in words):
        return f"name arrays by {' '.join(f'--input {word}' for word in words)}"
    if len(words) == 1 and re.fullmatch(r"\d+(x\d+)+", words[0]):
        return f"give a shape by --shape {words[0]}"
    return ""


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """Prints a warning as errors are printed, without the Python line that raised it."""
    click.echo(f"warning: {message}", err=True)


def full(e: OSError) -> None:
    """Reports that standard output cannot be written; raises any other error again."""
    from ..compiler.errors import error

    if e.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF):
        raise e
    silence()
    click.echo(error("WF505", path="standard output", reason=e.strerror).render(), err=True)
