"""The table of planted faults, and the kernels without faults."""

from __future__ import annotations

from dataclasses import replace

import handmade
import mutate
import own
import short
from faults_by_hand import LAUNCHED, LEFT, WRITTEN
from faults_of_ours import BESIDE, CHUNKED, CLUSTERED, COPIED, COUNTED, EDITED, SCANNED, SHARED_BY_GRID
from handmade import FAMILIES
from scene import Scene

COMPARED = WRITTEN + LAUNCHED + EDITED
"""The faults on which compute-sanitizer has been run, too (``agreement.py``)."""
FAULTS = COMPARED + COPIED + CHUNKED + BESIDE + SHARED_BY_GRID + CLUSTERED + SCANNED + COUNTED + LEFT + short.FAULTS

_SOUND_VARIANTS = (
    ("last", "RESET_BY_STORE"),
    ("flagged", "RELEASE_ACQUIRE"),
    ("left", "WARP_EARLY"),
    ("left", "UNALIGNED"),
    ("left", "BOUND_IN_MEMORY"),
)


def clean() -> list[Scene]:
    """Kernels without faults, and kernels whose edits remove nothing necessary."""
    spare = own.scene("last block")
    launch = spare.launches[0]

    def edited(name: str, change: mutate.Edit) -> Scene:
        return replace(spare.with_launch(0, replace(launch, ptx=change(launch.ptx))), name=f"last block: {name}")

    return [
        *(make("NONE") for make in FAMILIES.values()),
        *(FAMILIES[family](variant) for family, variant in _SOUND_VARIANTS),
        handmade.twice(FAMILIES["last"]("NONE"), "out", 3),
        *(own.scene(name) for name in own.CALLS),
        edited(
            "the ticket releases, a fence acquires", mutate.both(mutate.ordered("release"), mutate.fenced(after=True))
        ),
        edited(
            "a fence releases, the ticket acquires", mutate.both(mutate.ordered("acquire"), mutate.fenced(before=True))
        ),
        edited(
            "fences order, the ticket need not",
            mutate.both(mutate.ordered("relaxed"), mutate.fenced(before=True, after=True)),
        ),
        edited("one thread writes and takes the ticket, a barrier too many", mutate.barrier(1)),
    ]
