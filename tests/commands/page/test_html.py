"""The file of a page: valid HTML without references to anything outside, data that unpack, lines and folds."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from typing import Any

from warpfold.commands.page.collect import collect
from warpfold.commands.page.html import html
from warpfold.commands.requests.choose import request_of

VOID = {"meta", "input", "br", "link", "img", "hr"}


@cache
def text() -> str:
    return html(collect(request_of("sum", shapes=("16x64",), axis_text="1"), "vector=1", None))


class Reader(HTMLParser):
    """Checks that elements are closed in order, and keeps what they have."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: Counter[str] = Counter()
        self.links: list[str] = []
        self.tags: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.tags[tag] += 1
        for name, value in attrs:
            if name == "id":
                self.ids[str(value)] += 1
            if name in ("href", "src"):
                self.links.append(str(value))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"{tag} closes another element at {self.getpos()}"


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return reader


def test_elements_are_closed_names_are_unique_and_links_stay_inside() -> None:
    found = read(text())
    assert max(found.ids.values()) == 1
    assert found.links
    for link in found.links:
        assert link.startswith("#")
        assert link[1:] in found.ids
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//|@import|url\(""", text())


def test_data_of_each_launch_unpack() -> None:
    blocks: dict[str, str] = dict(re.findall(r'<script type="text/plain" id="d-(\w+)">([\w+/=]+)</script>', text()))
    assert set(blocks) == {"s0k0", "s1k0"} == set(re.findall(r'data-play="(\w+)"', text()))
    for packed in blocks.values():
        value: Any = json.loads(zlib.decompress(base64.b64decode(packed)))
        assert set(value) == {"play", "grid", "owned"}
        assert len(value["owned"][0]["owner"]) == 16 * 64


def test_lines_and_counts_of_a_column_are_all_there() -> None:
    page = collect(request_of("sum", shapes=("16x64",), axis_text="1"), None, None)
    lines = sum(len(c.lines) for part in page.sides[0].parts for c in part.columns)
    found = html(page)
    assert len(re.findall(r"<i[ >]", found)) == lines
    folded = [int(n) for n in re.findall(r"<summary>(\d+) unchanged lines</summary>", found)]
    assert folded
    assert min(folded) > 6


def test_a_small_page_is_small() -> None:
    assert len(html(collect(request_of("sum", shapes=("64x64",), axis_text="1"), None, None))) < 400_000


def test_text_of_the_user_is_escaped() -> None:
    page = collect(request_of("sum", shapes=("16x64",), axis_text="1", plan="warps=1"), None, None)
    object.__setattr__(page, "title", "<b>&")
    assert "<title>&lt;b&gt;&amp;</title>" in html(page)


def test_drawings_have_a_cell_for_each_element() -> None:
    pictures = re.findall(r'<div class="by by-thread"><svg[^>]*aria-label="([^"]+)"[^>]*>(.*?)</svg>', text())
    assert pictures[0][0] == "input 0: which thread reads which element first"
    cells = [int(n) // 10 for n in re.findall(r"h(\d+)v10", pictures[0][1])]
    assert sum(cells) == 16 * 64
