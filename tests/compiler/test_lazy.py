"""``lazy``: computed once, kept in the instance, and never under a lock."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from warpfold.compiler.lazy import lazy


@dataclass(frozen=True)
class Square:
    side: int

    @lazy
    def area(self) -> list[int]:
        """The area."""
        return [self.side**2]


def test_the_value_is_computed_once_and_kept_in_the_instance() -> None:
    square = Square(3)
    assert "area" not in square.__dict__
    assert square.area == [9]
    assert square.area is square.area
    assert Square(4).area == [16]
    assert Square.area.__doc__ == "The area."


def test_no_thread_waits_for_another() -> None:
    class Slow:
        @lazy
        def value(self) -> int:
            return self.make()

    first, second = Slow(), Slow()
    entered, leave = threading.Event(), threading.Event()
    first.make = lambda: [entered.set(), leave.wait(60)] and 1  # type: ignore[attr-defined, method-assign]
    second.make = lambda: 2  # type: ignore[attr-defined, method-assign]
    thread = threading.Thread(target=lambda: first.value)
    thread.start()
    entered.wait(60)
    assert second.value == 2  # under a lock of the class this would wait forever
    leave.set()
    thread.join()
    assert first.value == 1
