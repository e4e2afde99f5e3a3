"""Files of JSON with a checksum: a line with the format and the SHA-256 of what follows, then JSON.

A file that is cut short, altered or foreign fails the checksum. One with a checksum made anew is still read field by
field (``json_fields.py``), and its parts must fit together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import error
from .artifact_checks import UnsoundError

T = TypeVar("T")


def to_bytes(magic: bytes, fields: dict[str, Any]) -> bytes:
    """The bytes of a file whose format begins with ``magic``, which ``parse`` reads."""
    body = json.dumps(fields, separators=(",", ":")).encode()
    return magic + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def parse(magic: bytes, data: bytes, path: object, read: Callable[[Any], T]) -> T:
    """What ``read`` makes of the JSON in the bytes of a file.

    Args:
        magic: what a file of this format begins with.
        data: the bytes.
        path: the file, for the message.
        read: raises ``UnsoundError`` for parts that do not fit together, and Python's own errors for other fields.

    Raises:
        FileError: WF502 not a file of this format, WF503 cut short or altered, WF510 one whose parts do not fit
            together.
    """
    head, _, body = data.partition(b"\n")
    if not head.startswith(magic):
        raise error("WF502", path=path)
    if head[len(magic) :].decode("ascii", "replace") != hashlib.sha256(body).hexdigest():
        raise error("WF503", path=path)
    try:
        return read(json.loads(body))
    except UnsoundError as e:
        raise error("WF510", path=path, problem=e) from e
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as e:  # of another format
        raise error("WF502", path=path) from e
