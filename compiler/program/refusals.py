"""What no symbolic value can do: Python protocols that ask for a number, an entry or a truth value."""

from __future__ import annotations

from typing import Any

from ..errors import WarpfoldError, error
from .frames import caller
from .spelling import instead


def _no_entry(index: object, done: str) -> WarpfoldError:
    found = "a slice" if isinstance(index, slice) else "..." if index is ... else repr(index)
    return error("WF238", index=found, done=done, where=caller())


class Symbolic:
    """The base of real and complex symbolic values: what cannot be done before there are elements."""

    __slots__ = ()

    def __bool__(self) -> bool:
        raise error("WF201", where=caller())

    def __iter__(self) -> Any:
        raise error("WF202", where=caller())

    def __contains__(self, _: object) -> bool:
        raise error("WF282", where=caller())

    def __getitem__(self, index: object) -> Any:
        raise _no_entry(index, "asked for")

    def __setitem__(self, index: object, _: object) -> None:
        raise _no_entry(index, "assigned to")

    def __delitem__(self, index: object) -> None:
        raise _no_entry(index, "deleted")

    def __matmul__(self, other: object) -> Any:
        raise error("WF239", where=caller())

    __rmatmul__ = __matmul__

    def __format__(self, form: str) -> str:
        if form:
            raise error("WF240", form=form, where=caller())
        return repr(self)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __array__(self, *_: object, **__: object) -> Any:
        raise error("WF217", library="numpy", name="asarray", remedy=instead("asarray", arrays=False), where=caller())

    def __len__(self) -> int:
        raise error("WF202", where=caller())

    def __float__(self) -> float:
        raise error("WF203", conversion="float", where=caller())

    def __int__(self) -> int:
        raise error("WF203", conversion="int", where=caller())

    __index__ = __trunc__ = __floor__ = __ceil__ = __int__

    def __complex__(self) -> complex:
        raise error("WF203", conversion="complex", where=caller())
