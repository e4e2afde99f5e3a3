"""The structure of a monoid: what it declares to be, so that nothing has to find it in its formulas.

A combine of one operation on each value of the state, such as a sum, shows what it is. One that looks for an extreme
element and its number is a dozen nodes, of which many forms do the same: its monoid says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Key = Literal["least", "greatest"]


@dataclass(frozen=True)
class First:
    """The first of elements: of two states (element, number) the one whose element comes first, as in ``argmax``.

    Of equal elements, as both zeros are, the least number comes first. NaN comes before every number.

    Attributes:
        key: which element comes first, the ``least`` or the ``greatest``.
    """

    key: Key

    @property
    def falls(self) -> bool:
        """Whether ranks fall with elements: the least rank comes first."""
        return self.key == "greatest"
