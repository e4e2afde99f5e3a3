"""Every page of docs/pages in a browser, at both widths: no error, lines that light up, the player, folds, layout."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gallery import CASES, Case
from matplotlib.image import imread

from warpfold.commands.page.collect import collect
from warpfold.commands.page.html import html
from warpfold.commands.requests.choose import request_of

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
READY = "warpfold.players.then(() => true)"
SECTIONS = ["plan", "lanes", "code", "counts"]
OVERFLOW = """() => [...document.querySelectorAll('body *')].filter(e => {
  const box = e.getBoundingClientRect();
  return box.width && !e.closest('svg, .wide, .code, .columns, .listing, .skip') && box.right > innerWidth + 1;
}).map(e => e.tagName + '.' + e.className).slice(0, 5)"""
COLUMNS = "s => getComputedStyle(document.querySelector(s)).gridTemplateColumns.split(' ').length"
TOPS = (
    "() => [...document.querySelectorAll('main > section')].map(s => [s.id, Math.round(s.getBoundingClientRect().top)])"
)
LIT = """selector => [...document.querySelectorAll(selector)].filter(e => {
  const c = getComputedStyle(e).backgroundColor;
  return c !== 'rgba(0, 0, 0, 0)' && !e.classList.contains('c');
}).length"""


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def opened(request: pytest.FixtureRequest, browser: Any) -> Iterator[tuple[Case, Any]]:
    """A page without a network, which must log no error."""
    case: Case = request.param
    context = browser.new_context(viewport=WIDE, offline=True, reduced_motion="reduce")
    context.set_default_timeout(10_000)
    page, said = context.new_page(), list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda problem: said.append(str(problem)))
    page.goto(case.path.as_uri())
    page.evaluate(READY)
    yield case, page
    context.close()
    assert not said


def test_a_page_works_and_is_laid_out_at_both_widths(opened: tuple[Case, Any]) -> None:
    case, page = opened
    _lights_lines(page)
    _plays(page)
    _folds(page)
    _finds(page)
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        _is_laid_out(page, case, narrow=size is NARROW)


def _lights_lines(page: Any) -> None:
    """A line under the pointer lights its Python line and its lines of PTX; Enter keeps them, and shows them."""
    python = page.locator(".python .code i[class^=l]").first
    place = next(c for c in python.get_attribute("class").split() if c.startswith("l"))
    assert page.evaluate(LIT, f".code .{place}") == 0
    python.hover()
    lit = page.evaluate(LIT, f".code .{place}:not(.c)")
    assert lit == page.locator(f".code .{place}:not(.c)").count() > 1
    page.mouse.move(2, 2)
    assert page.evaluate(LIT, f".code .{place}") == 0


def _plays(page: Any) -> None:
    """Buttons, keys and the scrubber go through the instructions; lanes, listing, registers and drawings follow."""
    player = page.locator(".player").first
    scrub, now = player.locator(".scrub"), player.locator(".now")
    last = int(scrub.get_attribute("max"))
    assert now.inner_text().startswith(f"Instruction 1 of {last + 1}")
    player.locator(".next").click()
    assert now.inner_text().startswith("Instruction 2 of ")
    scrub.focus()
    page.keyboard.press("ArrowRight")
    assert now.inner_text().startswith("Instruction 3 of ")
    page.keyboard.press("End")
    assert now.inner_text().startswith(f"Instruction {last + 1} of {last + 1}")
    assert page.locator(".ptx .code .now").count() == 1
    assert player.locator(".listing .at").count() == 1
    figure = page.locator(".launch").first.locator(".owned").first
    assert figure.locator(".over .veil").get_attribute("d") == "" or figure.locator(".over .veil").is_visible()
    page.keyboard.press("Home")
    assert player.locator(".cells .active").count() > 0
    if player.locator(".to-event").is_enabled():
        player.locator(".to-event").click()
        assert player.locator(".tells strong").count() > 0
    picture = figure.locator(".picture")
    picture.focus()
    page.keyboard.press("ArrowRight")
    assert figure.locator(".said").inner_text().strip()
    assert player.locator(".registers tbody tr").count() > 0


def _folds(page: Any) -> None:
    """What a pass leaves is folded, and opens."""
    fold = page.locator(".code details").first
    inside = fold.locator("i").first
    assert not inside.is_visible()
    fold.locator("summary").click()
    assert inside.is_visible()


def _finds(page: Any) -> None:
    """The search finds a word in the columns, by keyboard alone."""
    page.locator("h1").click()
    page.keyboard.press("/")
    page.keyboard.type(".entry")
    page.wait_for_function("document.querySelector('output').textContent.includes(' of ')")
    assert page.locator(".code mark").first.inner_text() == ".entry"


def _is_laid_out(page: Any, case: Case, *, narrow: bool) -> None:
    """Sections below each other, sides beside each other where there is room, nothing wider than the page, ink."""
    assert page.evaluate(OVERFLOW) == []
    tops = page.evaluate(TOPS)
    assert [name for name, _ in tops] == SECTIONS
    assert [top for _, top in tops] == sorted(top for _, top in tops)
    two = case.compare is not None
    if two:
        assert page.evaluate(COLUMNS, ".sides.two") == (1 if narrow else 2)
    assert page.evaluate(COLUMNS, ".stage") == (1 if narrow or two else 2)
    page.evaluate("scrollTo(0, document.querySelector('#lanes').offsetTop)")
    pixels = imread(io.BytesIO(page.screenshot()))[..., :3]
    paper = pixels[-1, 1]
    ink = (np.abs(pixels - paper).max(axis=2) > 0.2).reshape(4, -1).mean(axis=1)
    assert (ink > 0.005).all(), ink
    assert (ink < 0.7).all(), ink


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(browser: Any, scheme: str) -> None:
    """At least 4.5 to 1, as WCAG asks for."""
    page = browser.new_page(color_scheme=scheme)
    page.goto(CASES[0].path.as_uri())
    names = ["paper", "raised", "ink", "quiet", "accent", "gone", "alarm", "new-edge", "lit", "lit-strong", "new"]
    found = page.evaluate(
        "names => { const e = document.body; return names.map(n => { e.style.color = `var(--${n})`;"
        " return getComputedStyle(e).color.match(/\\d+/g).slice(0, 3).map(Number); }); }", names
    )  # fmt: skip
    page.close()
    light = {name: _luminance(rgb) for name, rgb in zip(names, found, strict=True)}
    pairs = [(text, ground) for text in ("ink", "quiet", "accent", "gone", "alarm") for ground in ("paper", "raised")]
    pairs += [("ink", "lit"), ("ink", "lit-strong"), ("ink", "new"), ("new-edge", "raised")]
    for text, ground in pairs:
        high, low = sorted((light[text], light[ground]), reverse=True)
        least = 3 if text == "new-edge" else 4.5
        assert (high + 0.05) / (low + 0.05) >= least, (text, ground)


def _luminance(rgb: list[int]) -> float:
    values = [c / 255 for c in rgb]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in values]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_without_javascript_stages_drawings_and_counts_are_there(browser: Any) -> None:
    context = browser.new_context(viewport=WIDE, java_script_enabled=False)
    page = context.new_page()
    page.goto(CASES[0].path.as_uri())
    assert page.locator(".ptx .code i").first.is_visible()
    assert page.locator(".picture svg").first.is_visible()
    assert not page.locator(".player").first.is_visible()
    assert page.get_by_text("warp instructions").is_visible()
    page.locator("label", has_text="warp").first.click()
    assert page.locator(".by-warp").first.is_visible()
    assert "need JavaScript" in page.locator("footer").inner_text()
    context.close()


def test_a_page_prints(browser: Any) -> None:
    page = browser.new_page()
    page.goto(CASES[0].path.as_uri())
    page.emulate_media(media="print")
    assert not page.locator("nav.main").is_visible()
    assert page.locator(".ptx .code i").last.is_visible()
    assert page.pdf().startswith(b"%PDF")
    page.close()


CONFLICT = """() => {
  const data = { arrays: [["shared memory", 4]], warps: [[0, 0, -1]], masks: [[-1]], regs: [], code: [],
    pool: [[...Array(32).keys()].map(k => 128 * (k % 4) + 4 * Math.floor(k / 4))] };
  const step = { l: 0, a: [[0, 0, 0, 4, -1, 0, 4, 1]] }, box = document.createElement("div");
  warpfold.lanes.access(box, data, step, 0);
  const said = warpfold.words.sentence(data, step, 0, 0).map(p => p.textContent ?? p).join("");
  return [warpfold.words.faults(data, step), said,
    [...box.querySelectorAll(".over")].map(b => b.title)];
}"""


def test_a_bank_conflict_is_said_and_drawn(browser: Any) -> None:
    """No kernel of the gallery has one: here four words of eight banks are read at once."""
    page = browser.new_page()
    page.goto(CASES[0].path.as_uri())
    page.evaluate(READY)
    faults, said, banks = page.evaluate(CONFLICT)
    page.close()
    assert faults == ["conflict"]
    assert said.startswith(
        "Of CTA 0, warp 0, 32 lanes read 4 bytes each of shared memory: 4 wavefronts, and 1 would do."
    )
    assert said.strip().endswith("Lanes meet at a bank: a bank conflict.")
    assert banks == [f"bank {k}: 4 words" for k in range(8)]


def test_4096_elements_are_under_3_mb_and_open_in_a_second(browser: Any, tmp_path: Any) -> None:
    path = tmp_path / "page.html"
    text = html(collect(request_of("softmax", shapes=("16x256",)), None, None))
    assert len(text.encode()) < 3_000_000
    path.write_text(text)
    page = browser.new_page()
    page.goto("about:blank")
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        page.goto(path.as_uri())
        page.evaluate(READY)
        times.append(time.perf_counter() - begun)
    page.close()
    assert min(times) < 1
