"""Powers of two."""

from __future__ import annotations


def ceil2(n: int) -> int:
    """The least power of two not below ``n``, at least 1."""
    return 1 << max(0, n - 1).bit_length()


def floor2(n: int) -> int:
    """The greatest power of two not above ``n``, at least 1."""
    return 1 << max(0, n.bit_length() - 1)


def halvings(n: int) -> list[int]:
    """``n``, a power of two, its half and so on down to 2."""
    return [n >> k for k in range(n.bit_length() - 1)]
