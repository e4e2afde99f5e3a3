"""The peers: other ways to reduce an array from Python, one file each.

The ``open_peer(backend)`` of a file gives a ``Peer``, or raises ``MissingError`` where something is not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from ....compiler.errors import error, near

if TYPE_CHECKING:
    from ....runtime.backends.cuda_backend import CudaBackend
    from ..cases import Case

NAMES = ("torch", "compile", "cupy", "cub", "triton")


class MissingError(Exception):
    """The peer is not there; the text says what is lacking."""


class UnservedError(Exception):
    """The peer has no such function, or not for such arrays."""


class Peer(Protocol):
    """Another way to reduce.

    Attributes:
        version: of what does the work.
    """

    version: str

    def call(self, case: Case, x: Any) -> Callable[[], Any]:
        """What queues the case's reduction of ``x`` on the default stream, and gives the result: an array, or a view.

        Raises:
            UnservedError: the peer cannot do this.
        """
        ...


def select(text: str) -> tuple[str, ...]:
    """The peers that ``text`` names, with commas between; nothing is all of them, ``none`` none.

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
    """Each peer, or why it is missing."""
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
