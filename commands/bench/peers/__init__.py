"""The peers: other ways to compute a case from Python, one file each.

``open_peer(backend)`` of a file returns a ``Peer``, or raises ``MissingError`` if something is not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from ....compiler.errors import error, near
from ..cases import Case
from ..programs.case import ProgramCase

if TYPE_CHECKING:
    from ....runtime.backends.cuda_backend import CudaBackend

AnyCase = Case | ProgramCase

NAMES = ("torch", "compile", "cupy", "cub", "triton", "quack", "liger")
ONLY_REDUCTIONS, ONLY_PROGRAMS = ("cupy", "cub", "triton"), ("quack", "liger")
"""Peers that are not asked for cases of the other sort."""


class MissingError(Exception):
    """A peer is not installed; the text names what is missing."""


class UnservedError(Exception):
    """A peer lacks the function, or does not support the arrays."""


class Peer(Protocol):
    """Another way to compute cases.

    Attributes:
        version: the version of the library.
    """

    version: str

    def call(self, case: Any, x: Any) -> Callable[[], Any]:
        """A function that queues the case on ``x`` on the default stream, and returns the result or a tuple of them.

        ``x`` is the array of a reduction, or the tuple of the inputs of a program.

        Raises:
            UnservedError: the peer does not support the case.
        """
        ...


def serves(name: str, case: AnyCase) -> bool:
    """Whether a peer is asked for cases of this sort."""
    return name not in (ONLY_PROGRAMS if isinstance(case, Case) else ONLY_REDUCTIONS)


def select(text: str) -> tuple[str, ...]:
    """The peers in a comma-separated list; all for an empty text, none for ``none``.

    Raises:
        ArgumentError: WF741.
    """
    if text == "none":
        return ()
    words = [w.strip() for w in text.split(",") if w.strip()]
    for word in words:
        if word not in NAMES:
            raise error("WF741", name=word, near=near(word, NAMES), known=" ".join(NAMES))
    return tuple(n for n in NAMES if n in words) if words else NAMES


def open_peers(names: Sequence[str], backend: CudaBackend) -> dict[str, Peer | str]:
    """Each peer, or the reason why it is missing."""
    found: dict[str, Peer | str] = {}
    for name in names:
        try:
            found[name] = import_module(f".{name}", __name__).open_peer(backend)
        except MissingError as e:
            found[name] = str(e)
        except Exception as e:
            found[name] = f"{type(e).__name__}: {reason(e)}"
    return found


def reason(e: BaseException) -> str:
    """The first line of an exception's text."""
    return next(iter(str(e).strip().splitlines()), type(e).__name__)[:200]
