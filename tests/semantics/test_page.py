"""docs/semantics.md, sentence by sentence: each names its tests beside this file, and each of these is named there."""

from __future__ import annotations

import re
from pathlib import Path

import types_page
from numpys import COMPLETE

PAGE = Path(__file__).parents[2] / "docs" / "semantics.md"
TAG = re.compile(r"\s\[([a-z0-9_]+(?:, [a-z0-9_]+)*)\]\.\s+")


def statements() -> list[tuple[str, list[str]]]:
    """(sentence, the tests it names), and what follows the last of a paragraph as a sentence without any."""
    text = re.sub(r"^#.*$", "", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found: list[tuple[str, list[str]]] = []
    for block in re.split(r"\n\s*\n|^- ", text, flags=re.MULTILINE):
        pieces = TAG.split(" ".join(block.split()) + " ")
        found += [(s, names.split(", ")) for s, names in zip(pieces[::2], pieces[1::2], strict=False)]
        found += [(pieces[-1], [])] if pieces[-1].strip() else []
    return found


def test_every_sentence_names_its_tests() -> None:
    texts = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py")]
    tests = [name for text in texts for name in re.findall(r"^def test_(\w+)", text, re.MULTILINE)]
    collected, named = set(tests), set()
    assert len(tests) == len(collected), f"two tests have one name: {sorted({t for t in tests if tests.count(t) > 1})}"
    for sentence, names in statements():
        assert names, f"names no test: {sentence}"
        plain = re.sub(r"\*\*.*?\*\*|`[^`]*`", "x", sentence)
        assert not re.search(r"[.!?]\s+\S", plain), f"two sentences share their tests: {sentence}"
        assert set(names) <= collected, f"no such test: {set(names) - collected}"
        named |= set(names)
    assert named == collected


def test_every_function_has_its_types() -> None:
    page = types_page.PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in (*COMPLETE, "unique"))
