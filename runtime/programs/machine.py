"""What plans of programs are made for."""

from __future__ import annotations

from typing import NamedTuple

from ...compiler.target import Target


class Machine(NamedTuple):
    """What plans are made for.

    Attributes:
        target: the architecture.
        sms: multiprocessors.
        device: the driver's name for the device; empty to ignore plans that the autotuner found.
    """

    target: Target
    sms: int
    device: str = ""
