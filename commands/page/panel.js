"use strict";
// The elements of a player: buttons, the strip and the scrubber, a row for each warp, and places for what is shown.
(() => {
  const WARP = 32,
    SPEEDS = [2, 6, 20];
  const { make } = window.warpfold.words;
  const { stretched, strip, legend } = window.warpfold.lanes;
  const EVENT = "a bank conflict, a divergent branch, or excess sectors";

  const button = (textContent, onclick, more = {}) => make("button", { type: "button", textContent, onclick, ...more });
  const row = (...children) => make("div", { className: "warp" }, ...children);

  /** Makes the elements of a player, and puts them into its root. */
  function panel(player) {
    const own = {
      play: button("Play", () => player.toggle(), { className: "go" }),
      laneInput: lane(player),
      speed: make("select", {}, ...SPEEDS.map((n) => new Option(`${n} a second`, n, n === SPEEDS[1], n === SPEEDS[1]))),
      scrub: scrub(player),
      strip: strip(player.data, player.faults),
      now: make("p", { className: "now" }),
      tells: make("p", { className: "tells", ariaLive: "polite" }),
      arcs: stretched("arcs", "0 0 320 40"),
      rows: player.data.warps.map(([cta, warp], w) => warpRow(player, cta, warp, w)),
      banks: make("div", { className: "banks" }),
      listing: make("ol", { className: "listing" }),
      from: make("p", { className: "from" }),
      registers: make("div", { className: "wide", tabIndex: 0 }),
    };
    own.strip.addEventListener("pointerdown", (event) => drag(player, own.strip, event));
    const key = legend(player.data, player.faults);
    const warps = make("div", { className: "warps" }, row(make("span"), own.arcs), ...own.rows.map((r) => r.row));
    const above = [controls(player, own), own.strip, own.scrub, key, own.now, own.tells];
    player.root.append(...above, warps, own.banks, own.listing, own.from, own.registers);
    return own;
  }

  function controls(player, { play, laneInput, speed }) {
    const disabled = !player.faults.some((found) => found.length);
    const children = [
      play,
      button("Back", () => player.go(player.at - 1)),
      button("Next", () => player.go(player.at + 1), { className: "next" }),
      button("Next event", () => player.nextEvent(), { className: "to-event", disabled, title: EVENT }),
      make("label", {}, "Lane ", laneInput),
      make("label", {}, "Speed ", speed),
    ];
    return make("div", { className: "controls" }, ...children);
  }

  function lane(player) {
    const input = make("input", { type: "number", min: 0, max: WARP - 1, value: 0, className: "lane" });
    input.oninput = () => player.choose(player.warp, Math.max(0, Math.min(WARP - 1, +input.value || 0)));
    return input;
  }

  function scrub(player) {
    const input = make("input", { type: "range", className: "scrub", min: 0, max: player.last, value: 0 });
    input.ariaLabel = "Instruction";
    input.oninput = () => player.go(+input.value);
    return input;
  }

  /** The lanes of a warp, each a cell; a click chooses warp and lane. */
  function warpRow(player, cta, warp, w) {
    const cells = Array.from({ length: WARP }, (_, lane) => make("b", { onclick: () => player.choose(w, lane) }));
    const text = player.data.ctas > 1 ? `CTA ${cta} warp ${warp}` : `warp ${warp}`;
    const box = make("div", { className: "cells" }, ...cells);
    box.style.setProperty("--own", `var(--k${w % 8})`);
    return {
      row: row(
        button(text, () => player.choose(w, player.lane)),
        box,
      ),
      cells,
    };
  }

  /** Goes where the pointer is on the strip, until it is let go. */
  function drag(player, picture, event) {
    const move = ({ clientX }) => {
      const { left, width } = picture.getBoundingClientRect();
      player.go(Math.floor(((clientX - left) / width) * player.data.steps.length));
    };
    move(event);
    picture.setPointerCapture(event.pointerId);
    picture.onpointermove = move;
    picture.onpointerup = () => {
      picture.onpointermove = null;
    };
  }

  window.warpfold.panel = panel;
})();
