"""Writes a page as one HTML file, with style sheet, scripts and data in it."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from html import escape
from importlib.resources import files
from string import Template

from . import drawing
from .html_code import code
from .model import Fact, Launched, Owned, Page, Part, Side, Table

SCRIPTS = ("code.js", "drawing.js", "words.js", "lanes.js", "panel.js", "player.js")
KEY = "A colour is a warp, a CTA or a cluster; colours repeat. The lanes of a warp go from pale to full."
SECTIONS = (("plan", "Plan"), ("lanes", "Lanes"), ("code", "Code"), ("counts", "Counts"))


def html(page: Page) -> str:
    """The file."""
    sections = {"plan": _plan, "lanes": _lanes, "code": code, "counts": _counts}
    body = "".join(_section(name, title, page, sections[name]) for name, title in SECTIONS)
    values = {
        "title": escape(page.title),
        "command": escape(page.command),
        "style": _asset("page.css"),
        "nav": "".join(f'<a href="#{name}">{title}</a>' for name, title in SECTIONS),
        "summary": _sides(page, _summary),
        "body": body,
        "data": "".join(_data(i, side) for i, side in enumerate(page.sides)),
        "script": "\n".join(map(_asset, SCRIPTS)),
    }
    return Template(_asset("page.html")).substitute(values)


def _asset(name: str) -> str:
    """A file of this folder."""
    return (files(__package__) / name).read_text(encoding="utf-8")


def _section(name: str, title: str, page: Page, write: Callable[[int, Side], str]) -> str:
    return f'<section id="{name}"><h2>{title}</h2>{_sides(page, write)}</section>'


def _sides(page: Page, write: Callable[[int, Side], str]) -> str:
    """What one writes of each side, beside each other where there are two."""
    several = len(page.sides) > 1
    each = "".join(
        f'<div class="side">{f"<h3 class=which>{escape(side.name)}</h3>" if several else ""}{write(i, side)}</div>'
        for i, side in enumerate(page.sides)
    )
    return f'<div class="sides{" two" if several else ""}">{each}</div>'


def _summary(_: int, side: Side) -> str:
    trouble = f'<p class="trouble"><strong>Not run.</strong> {escape(side.trouble)}</p>' if side.trouble else ""
    return facts(side.facts) + trouble


def facts(pairs: Sequence[Fact]) -> str:
    """Labelled values; a label that is empty continues the one before."""
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in pairs) + "</dl>"


def table(found: Table, caption: str) -> str:
    """A table that scrolls where it is wider than the page, without columns that are empty."""
    full = [i for i in range(len(found.columns)) if any(row[i] for row in found.rows)]
    found = replace(
        found,
        columns=[found.columns[i] for i in full],
        rows=[[row[i] for i in full] for row in found.rows],
    )
    kinds = [" class=num" if name in found.numeric else " class=mono" * (name in found.mono) for name in found.columns]

    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(f"<{tag}{kind}>{escape(text.strip())}</{tag}>" for text, kind in zip(row, kinds, strict=True))

    rows = "".join(
        f"<tr{' class=poor' if i in found.poor else ''}{' data-in=1' if row[0].startswith('  ') else ''}>"
        f"{cells(row, 'td')}</tr>"
        for i, row in enumerate(found.rows)
    )
    head = f"<thead><tr>{cells(found.columns, 'th')}</tr></thead>"
    body = f'<div class="wide" tabindex="0"><table>{head}<tbody>{rows}</tbody></table></div>'
    return f'<figure class="table"><figcaption>{escape(caption)}</figcaption>{body}</figure>'


def _plan(_: int, side: Side) -> str:
    return "".join(_part(part) for part in side.parts)


def _part(part: Part) -> str:
    """One part's plan, reasons, rejected plans and levels."""
    title = f"<h3>{escape(part.title)}</h3>" if part.title else ""
    why = "".join(f"<li>{escape(text)}</li>" for text in part.why)
    rejected = "".join(f"<dt>{escape(what)}</dt><dd>{escape(text)}</dd>" for what, text in part.rejected)
    blocks = [
        title,
        table(part.levels, "The levels of the machine: how many elements each has along the axes, and what joins them"),
        table(part.accesses, "The arrays, and the accesses of one thread") if part.accesses else "",
        f"<h4>Fragments</h4><pre tabindex=0>{escape(lanes)}</pre>" if (lanes := "\n".join(part.fragments)) else "",
        f"<div class=pair><div><h4>Cost</h4>{facts([*part.phases, *part.facts])}</div>",
        f"<div><h4>Why</h4><ul>{why or '<li>The plan was asked for.</li>'}</ul>",
        f"<h4>Rejected</h4><dl class=rejected>{rejected}</dl></div></div>" if rejected else "</div></div>",
        f'<p class="field"><span>--plan</span> <code>{escape(part.plan)}</code></p>',
    ]
    return "".join(blocks)


def _lanes(number: int, side: Side) -> str:
    if not side.launches:
        return f'<p class="trouble">{escape(side.trouble or "No kernel is launched.")}</p>'
    return "".join(_launch(number, k, one) for k, one in enumerate(side.launches))


def _launch(side: int, number: int, one: Launched) -> str:
    """The drawings of a launch and the place of its player."""
    name = f"s{side}k{number}"
    drawings = "".join(_owned(f"{name}a{k}", own, one) for k, own in enumerate(one.owned))
    sampled = "".join(f"<li>{escape(text)}</li>" for text in one.sampled)
    note = f"<ul class=sampled>{sampled}</ul>" if sampled else ""
    player = f'<div class="player" data-play="{name}" data-part="s{side}p{one.part}"></div>' if one.play else ""
    return (
        f'<article class="launch" id="{name}"><h3>{escape(one.title)}</h3>{note}'
        f'<div class="stage">{player}<div class="drawings"><p class="key">{KEY}</p>{drawings}</div></div></article>'
    )


def _owned(name: str, own: Owned, one: Launched) -> str:
    """One array, with a picture a level, of which radio buttons choose one."""
    found = drawing.levels(one.grid, own)
    choices = "".join(
        f'<input type="radio" name="{name}" id="{name}{level}" value="{level}"{" checked" if k == 0 else ""}>'
        f'<label for="{name}{level}">{level}</label>'
        for k, level in enumerate(found)
    )
    pictures = "".join(f'<div class="by by-{level}">{drawing.svg(own, one.grid, level)}</div>' for level in found)
    shape = " x ".join(map(str, own.shape)) or "one"
    what = f"{own.name}, {own.verb}"
    return (
        f'<figure class="owned" data-array="{escape(own.name)}" data-verb="{own.verb}" data-name="{name}">'
        f"<figcaption><b>{escape(what)}</b> <span>{escape(own.dtype)}, {shape}</span></figcaption>"
        f"<fieldset><legend>Colour by</legend>{choices}"
        f'<div class="picture" style="--w:{own.width};--h:{drawing.height(own)}">{pictures}</div></fieldset>'
        f'<p class="said" aria-live="off"></p></figure>'
    )


def _counts(_: int, side: Side) -> str:
    if not side.launches:
        return f'<p class="trouble">{escape(side.trouble or "No kernel is launched.")}</p>'
    return "".join(
        f"<h3>{escape(one.title)}</h3>"
        + table(one.counts, "What the emulator counts, beside the least that the plan needs")
        + table(one.traffic, "Sectors of 32 bytes that each array takes")
        for one in side.launches
    )


def _data(number: int, side: Side) -> str:
    """What scripts read, a block for each launch: compressed, since a recording is long and alike."""
    found = []
    for k, one in enumerate(side.launches):
        owned = [{key: value for key, value in asdict(own).items() if key not in ("dtype",)} for own in one.owned]
        value = {"play": one.play, "grid": asdict(one.grid), "owned": owned}
        found.append(f'<script type="text/plain" id="d-s{number}k{k}">{_packed(value)}</script>')
    return "".join(found)


def _packed(value: object) -> str:
    """A value as JSON, deflated, in base 64."""
    raw = json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    return base64.b64encode(zlib.compress(raw, 9)).decode()
