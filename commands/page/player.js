"use strict";
// The player: goes through the instructions of a launch, by buttons, keys, or a scrubber.
(() => {
  const NEAR = 4;
  const { VERBS, has, many, make, lanesOf, splits, faults, sentence } = window.warpfold.words;
  const { arcs, access, registers } = window.warpfold.lanes;
  const SAYS = {
    active: "runs this",
    done: "has ended",
    waiting: "waits at a barrier",
    idle: "does not run this",
    none: "no thread",
  };

  class Player {
    constructor(root, { play, grid, owned }) {
      Object.assign(this, { root, data: play, part: root.dataset.part, at: 0, warp: 0, lane: 0, started: false });
      this.faults = play.steps.map((step) => faults(play, step));
      const figures = root.parentElement.querySelectorAll(".owned");
      this.drawings = owned.map(
        (own, k) => new window.warpfold.Drawing(figures[k], own, grid, (i, thread) => this.jump(i, thread, grid)),
      );
      Object.assign(this, window.warpfold.panel(this));
      root.addEventListener("keydown", (event) => this.key(event));
      this.show();
    }

    get last() {
      return this.data.steps.length - 1;
    }

    choose(warp, lane) {
      this.warp = warp;
      this.lane = lane;
      this.laneInput.value = lane;
      this.show();
    }

    /** To the instruction that touches an element first, and to the lane that does so, where it is shown. */
    jump(i, thread, { per_cta }) {
      const warp = this.data.warps.findIndex(
        ([cta, w]) => cta === Math.floor(thread / per_cta) && w === (thread % per_cta) >> 5,
      );
      if (warp >= 0) this.choose(warp, thread & 31);
      this.go(i);
    }

    key(event) {
      if (/select|number/.test(event.target.type)) return;
      const go = { ArrowRight: this.at + 1, ArrowLeft: this.at - 1, Home: 0, End: this.last }[event.key];
      if (go !== undefined) this.go(go);
      else if (event.key === "e") this.nextEvent();
      else if (event.key === " " && event.target.tagName !== "BUTTON") this.toggle();
      else return;
      event.preventDefault();
    }

    toggle() {
      const plays = !this.timer;
      clearInterval(this.timer);
      this.timer = null;
      this.play.textContent = plays ? "Pause" : "Play";
      this.tells.ariaLive = plays ? "off" : "polite";
      if (!plays) return;
      if (this.at >= this.last) this.go(0);
      this.timer = setInterval(
        () => (this.at < this.last ? this.go(this.at + 1) : this.toggle()),
        1000 / this.speed.value,
      );
    }

    nextEvent() {
      const { steps, warps } = this.data,
        order = steps.map((_, k) => (this.at + 1 + k) % steps.length);
      const i = order.find((k) => this.faults[k].length);
      const access = (steps[i].a || []).find((a) => a[6] > a[7]);
      const warp = access ? access[0] : warps.findIndex((_, w) => splits(this.data, steps[i], w));
      this.choose(Math.max(0, warp), this.lane);
      this.go(i);
    }

    go(i) {
      this.started = true;
      this.at = Math.max(0, Math.min(this.last, i));
      this.show();
    }

    /** What lanes wait, have ended and hold after instruction `at`: a replay from the begin. */
    replay() {
      const { warps, steps } = this.data,
        waits = warps.map(() => 0),
        done = warps.map(() => 0),
        held = new Map();
      for (let i = 0; i <= this.at; i++) {
        const step = steps[i];
        warps.forEach((_, w) => {
          waits[w] = (waits[w] | lanesOf(this.data, step.b, w)) & ~lanesOf(this.data, step.r, w);
          done[w] |= lanesOf(this.data, step.x, w);
        });
        for (const [reg, w, pool] of step.w || []) held.set(reg * warps.length + w, [pool, i]);
      }
      return { waits, done, held };
    }

    show() {
      const { data, at, warp, lane } = this,
        step = data.steps[at],
        [line, , kind] = data.code[step.c],
        state = this.replay();
      this.scrub.value = at;
      this.strip.cursor.setAttribute("d", `M${at} 0h1v48h-1z`);
      const total = data.total > data.steps.length ? ` (of ${data.total.toLocaleString("en")} in all)` : "";
      this.now.textContent = `Instruction ${at + 1} of ${data.steps.length}${total}, PTX line ${line}: ${kind}, in ${many(step.n, "thread")} of the grid`;
      this.tells.replaceChildren(...sentence(data, step, warp, lane));
      this.rows.forEach((row, w) => this.showWarp(row, w, step, state));
      arcs(this.arcs, data, step, warp);
      access(this.banks, data, step, warp);
      this.list(line);
      registers(this.registers, data, step, state.held, warp, lane, at);
      if (this.started) for (const drawing of this.drawings) this.showDrawing(drawing, step);
    }

    showWarp({ row, cells }, w, step, { waits, done }) {
      const alive = this.data.warps[w][2],
        runs = lanesOf(this.data, step.l, w);
      row.setAttribute("aria-current", String(w === this.warp));
      cells.forEach((cell, lane) => {
        const state = !has(alive, lane)
          ? "none"
          : has(runs, lane)
            ? "active"
            : has(done[w], lane)
              ? "done"
              : has(waits[w], lane)
                ? "waiting"
                : "idle";
        cell.className = state + (w === this.warp && lane === this.lane ? " chosen" : "");
        cell.title = `lane ${lane}: ${SAYS[state]}`;
      });
    }

    showDrawing(drawing, step) {
      const { name, verb } = drawing.own,
        hits = [];
      for (const [, array, how, size, , pool] of step.a || []) {
        if (this.data.arrays[array][0] !== name || VERBS[how] !== verb) continue;
        for (const address of this.data.pool[pool]) hits.push([address, size]);
      }
      drawing.show(this.at, hits, (this.data.arrays.find(([own]) => own === name) || [name, 4])[1]);
    }

    /** The lines of PTX around the current one, and the Python line that it comes from. */
    list(line) {
      const at = this.started ? window.warpfold.follow(this.part, line, false) : window.warpfold.ptx(this.part, line);
      this.listing.replaceChildren();
      if (!at) return;
      const lines = [...at.parentElement.children],
        k = lines.indexOf(at);
      for (const own of lines.slice(Math.max(0, k - NEAR), k + NEAR + 1)) {
        const text = own.textContent.trim().replaceAll(/\s+/g, " ");
        this.listing.append(
          make("li", { className: own === at ? "at" : "" }, make("span", { textContent: own.dataset.n }), text),
        );
      }
      const python = window.warpfold.python(this.part, at);
      const from = python
        ? ["from ", make("code", { textContent: python.textContent.trim() }), `, line ${python.dataset.n}; `]
        : [];
      this.from.replaceChildren(
        ...from,
        make("a", {
          href: `#${this.part}`,
          textContent: "show it in all columns",
          onclick: () => window.warpfold.follow(this.part, line, true),
        }),
      );
    }
  }

  async function unpacked(node) {
    const bytes = Uint8Array.from(atob(node.textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  }

  window.warpfold.players = Promise.all(
    [...document.querySelectorAll(".player")].map(async (root) => {
      return new Player(root, await unpacked(document.getElementById(`d-${root.dataset.play}`)));
    }),
  );
})();
