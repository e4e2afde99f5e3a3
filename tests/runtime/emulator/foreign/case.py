"""The launch of a foreign kernel and its expected result: ``Case``, and inputs that cases share."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FOREIGN = Path(__file__).parents[1] / "data" / "foreign"
Array = npt.NDArray[Any]
Model = Callable[..., Sequence[Array]]
Shape = int | tuple[int, int, int]
U32, I32, I64, U64 = np.uint32, np.int32, np.int64, np.uint64


@dataclass(frozen=True)
class Case:
    """One launch.

    Attributes:
        outputs: their values before the launch.
        model: ``model(*inputs, *outputs before)`` gives the outputs after it.
        close: relative error that the ISA or CUDA's documentation allows; None where it defines the bits.
        only: suffixes of the compiled files to run, all if empty.
        timely: a GPU's answer depends on its speed: the emulator lets bytes arrive as late as they may.
        number: how many cases of this kernel come before it.
    """

    source: str
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    model: Model
    numbers: tuple[int, ...] = ()
    shared: int = 0
    cluster: int = 1
    close: float | None = None
    only: tuple[str, ...] = ()
    timely: bool = False
    number: int = 0

    @property
    def files(self) -> list[str]:
        """The compiled modules that have this kernel."""
        found = sorted(path.stem for path in FOREIGN.glob(f"{self.source}_*.ptx"))
        return [name for name in found if not self.only or name[len(self.source) + 1 :] in self.only]


CASES: list[Case] = []


def case(
    source: str, kernel: str, grid: Shape, block: Shape, inputs: Sequence[Array], outputs: Sequence[Array], **more: Any
) -> None:
    """Adds a case; ``more`` holds its other fields."""
    shapes = [v if isinstance(v, tuple) else (v, 1, 1) for v in (grid, block)]
    number = sum((known.source, known.kernel) == (source, kernel) for known in CASES)
    CASES.append(Case(source, kernel, *shapes, tuple(inputs), tuple(outputs), number=number, **more))


def rng(name: str) -> np.random.Generator:
    """The same numbers on every machine."""
    return np.random.Generator(np.random.Philox(zlib.crc32(name.encode())))


def integers(name: str, n: int, low: int, high: int, dtype: type = I32) -> Array:
    """``n`` integers from ``low`` to ``high - 1``."""
    return rng(name).integers(low, high, n, dtype)


def bits(name: str, n: int, dtype: npt.DTypeLike) -> Array:
    """``n`` values of random bits."""
    raw = rng(name).bytes(n * np.dtype(dtype).itemsize)
    return np.frombuffer(raw, dtype).copy()


def zeros(n: int, dtype: npt.DTypeLike = I32) -> Array:
    """``n`` zeros."""
    return np.zeros(n, dtype)


def words(x: Array) -> Array:
    """The two's complement of Python-wide integers in 64 bits."""
    return np.array([int(v) & (2**64 - 1) for v in x], U64).view(I64)
