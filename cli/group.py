"""How a command ends: what went wrong stands on standard error without a traceback, and in the exit code."""

from __future__ import annotations

import errno
import re
import sys
import warnings
from typing import Any

import click

from ..compiler.standard import silence

WRONG, USAGE, INTERRUPTED, CLOSED = 1, 2, 130, 141
"""Exit codes; the last two are what a shell reports for SIGINT and SIGPIPE."""


class Commands(click.Group):
    """The group of commands: warpfold's errors end in exit code 2."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Reads the words of the command line, and prints the help that they ask for."""
        try:
            return super().make_context(*args, **extra)
        except BrokenPipeError:  # which click would end in exit code 1
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
            click.echo("interrupted: nothing was written", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            silence()
            ctx.exit(CLOSED)
        except OSError as e:
            full(e)
            ctx.exit(USAGE)
        return result


def _hinted(e: click.UsageError) -> click.UsageError:
    """Arrays and a shape are options: says so where they stand as arguments."""
    extra = re.search(r"extra arguments? \((.*)\)", e.message)
    takes = any("--input" in option.opts for option in e.ctx.command.params) if e.ctx else False
    hint = _option_for(extra[1].split()) if extra and takes else ""
    return click.UsageError(f"{e.message}: {hint}", e.ctx) if hint else e


def _option_for(words: list[str]) -> str:
    """How the command takes what these words are, if they are arrays or a shape."""
    if all(word.endswith(".npy") for word in words):
        return f"name arrays by {' '.join(f'--input {word}' for word in words)}"
    if len(words) == 1 and re.fullmatch(r"\d+(x\d+)+", words[0]):
        return f"give a shape by --shape {words[0]}"
    return ""


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """A warning looks like an error: without the Python line that gave it."""
    click.echo(f"warning: {message}", err=True)


def full(e: OSError) -> None:
    """Says that standard output takes no more; any other error goes on."""
    from ..compiler.errors import error

    if e.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF):
        raise e
    silence()
    click.echo(error("WF505", path="standard output", reason=e.strerror).render(), err=True)
