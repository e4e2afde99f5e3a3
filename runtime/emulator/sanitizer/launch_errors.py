"""The emulator's errors as findings: the fault that ended a launch, its thread, and the memory that it touched."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ....compiler.errors import WarpfoldError
from ..ptx.types import Instruction
from .findings import Findings, Index, Site, element, name_of

if TYPE_CHECKING:
    from ..machine.memory import Memory

KINDS = {
    "WF710": "out-of-bounds", "WF711": "misaligned", "WF712": "out-of-bounds", "WF713": "out-of-bounds",
    "WF714": "deadlock", "WF715": "warp-mask", "WF716": "no-end", "WF717": "trap", "WF719": "out-of-bounds",
    "WF720": "warp-mask", "WF722": "trap",
    "WF723": "assertion", "WF730": "deadlock", "WF731": "deadlock", "WF732": "no-end",
}  # fmt: skip
"""The kind of finding for each error code that is the kernel's fault."""
_PLACE = re.compile(
    r"[;, ]*(?:at )?kernel '[^']*', PTX line (\d+): '(.*)', CTA (\(.*?\)), thread (\(.*?\))$", re.DOTALL
)
_GLOBAL = re.compile(r"(\d+) bytes \w+ at (?:(?:global )?address )?0x([0-9a-f]+)")
_OTHER = re.compile(r"(\d+) bytes \w+ at (shared|local|param) address (-?)0x([0-9a-f]+)")
_NEAREST = re.compile(r"nearest variable '([^']*)' of \d+ bytes at 0x([0-9a-f]+)")
_TYPE = re.compile(r"\.([a-z]+(\d+)(?:x2)?)\s")


def of_error(findings: Findings, error: WarpfoldError, memory: Memory) -> None:
    """Adds the fault that ended a launch. An operand without meaning is left out if it was reported as uninitialised.

    Raises:
        WarpfoldError: ``error`` itself, if the request is at fault and not the kernel.
    """
    kind, match = KINDS.get(error.code), _PLACE.search(error.message)
    if kind is None or match is None:
        raise error
    line, text, cta, thread = match.groups()
    if error.code == "WF722" and findings.has("uninitialised", int(line)):
        return
    site = Site(_index(cta), _index(thread), int(line), error.location)
    what = error.message[: match.start()]
    words = what + (f"; {error.remedy}" if error.remedy else "")
    findings.add(kind, Instruction("", (), (), int(line), text), (site,), _where(what, text, memory), words)


def _index(text: str) -> Index:
    return tuple(int(part) for part in re.findall(r"\d+", text))


def _where(what: str, text: str, memory: Memory) -> str:
    """The array and the element at the address in the message ``what``; the address may be outside the array."""
    found = _TYPE.search(text)
    type_, bits = found.groups() if found else ("b8", "8")
    size = max(int(bits) // 8, 1)
    other, near = _OTHER.search(what), _NEAREST.search(what)
    if other is not None:
        space, address = other.group(2), int(other.group(3) + other.group(4), 16)
        name, start = (near.group(1), int(near.group(2), 16)) if near else (f"{space} memory", 0)
        return f"{name}{element(address - start, size)} ({space})"
    match = _GLOBAL.search(what)
    if match is None:
        return ""
    address = int(match.group(2), 16)
    home = memory.nearest(address)
    if home is None or address < 1 << 16:
        return f"address {address:#x}"
    return f"{name_of(home)}{element(address - home.address, size)} ({type_})"
