"""The address map of the emulator.

Global and constant memory lie below 2^56. Above them, shared, local and parameter memory each have a window in the
generic address space. Bits 24 to 31 of a shared address hold the rank of a CTA in its cluster plus one, or zero for the
thread's own CTA, so that ``mapa`` is arithmetic.
"""

from __future__ import annotations

WINDOW_BITS = 56
WINDOW_MASK = (1 << WINDOW_BITS) - 1
SHARED_WINDOW = 1 << WINDOW_BITS
LOCAL_WINDOW = 2 << WINDOW_BITS
PARAM_WINDOW = 3 << WINDOW_BITS
RANK_SHIFT = 24
GLOBAL_FIRST = 1 << 36
GLOBAL_LAST = 1 << 47
POISON = 0xCD
