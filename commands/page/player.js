"use strict";
// The player: goes through the instructions of a launch, and shows lanes, registers, accesses and what they cost.
(() => {
  const SVG = "http://www.w3.org/2000/svg", WARP = 32, NEAR = 4;
  const GROUPS = {
    memory: ["load", "store", "atomic"], exchange: ["shuffle", "vote"], wait: ["barrier", "fence"],
    arithmetic: ["float", "integer", "tensor"],
  };
  const VERBS = ["read", "written", "updated"];
  const make = (tag, more = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), more);
    node.append(...children);
    return node;
  };
  const groupOf = (kind) => Object.keys(GROUPS).find((name) => GROUPS[name].includes(kind)) || "other";
  const count = (mask) => { let n = 0; for (mask >>>= 0; mask; mask = (mask & (mask - 1)) >>> 0) n++; return n; };
  const has = (mask, lane) => ((mask >>> lane) & 1) === 1;
  const many = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

  class Player {
    constructor(root, { play, grid, owned }) {
      this.root = root;
      this.data = play;
      this.part = root.dataset.part;
      this.at = 0;
      this.warp = 0;
      this.lane = 0;
      this.started = false;
      const figures = root.parentElement.querySelectorAll(".owned");
      this.drawings = owned.map((own, k) => new window.warpfold.Drawing(figures[k], own, grid, (i, thread) => {
        const warp = play.warps.findIndex(([cta, w]) => cta === Math.floor(thread / grid.per_cta) && w === (thread % grid.per_cta) >> 5);
        if (warp >= 0) { this.warp = warp; this.lane = thread & 31; }
        this.go(i);
      }));
      this.events = play.steps.map((step) => this.event(step));
      this.build();
      this.show();
    }

    mask(number, warp) { return number === undefined ? 0 : this.data.masks[number][warp]; }
    steps() { return this.data.steps; }

    /** What is wrong with an instruction: bank conflicts, sectors beyond the fewest, a branch both ways. */
    event(step) {
      const found = [];
      for (const [, array, , , , , taken, ideal] of step.a || []) {
        if (taken > ideal) found.push(this.data.arrays[array][0] === "shared memory" ? "conflict" : "sectors");
      }
      if (step.t !== undefined && this.data.warps.some((_, w) => this.splits(step, w))) found.push("diverges");
      return [...new Set(found)];
    }

    splits(step, w) {
      const jump = count(this.mask(step.t, w)), all = count(this.mask(step.l, w));
      return jump > 0 && jump < all;
    }

    build() {
      const button = (text, act, more = {}) => make("button", { type: "button", textContent: text, onclick: act, ...more });
      this.play = button("Play", () => this.toggle(), { className: "go" });
      this.laneInput = make("input", { type: "number", min: 0, max: 31, value: 0, className: "lane", oninput: () => { this.lane = Math.max(0, Math.min(31, +this.laneInput.value || 0)); this.show(); } });
      this.speed = make("select", {}, ...[2, 6, 20].map((n) => new Option(`${n} a second`, n, n === 6, n === 6)));
      const controls = make("div", { className: "controls" },
        this.play, button("Back", () => this.go(this.at - 1)), button("Next", () => this.go(this.at + 1)),
        button("Next event", () => this.nextEvent(), { className: "to-event", disabled: !this.events.some((e) => e.length), title: "a bank conflict, a divergent branch, or sectors beyond the fewest" }),
        make("label", {}, "Lane ", this.laneInput), make("label", {}, "Speed ", this.speed));
      this.scrub = make("input", { type: "range", className: "scrub", min: 0, max: this.steps().length - 1, value: 0, oninput: () => this.go(+this.scrub.value) });
      this.scrub.setAttribute("aria-label", "Instruction");
      this.strip = this.drawStrip();
      const used = new Set(this.steps().map((s) => groupOf(this.data.code[s.c][2])));
      const legend = make("p", { className: "legend" }, ...[...Object.keys(GROUPS), "other"].filter((n) => used.has(n)).map((name) => {
        const item = make("span", { textContent: name });
        item.style.setProperty("--c", `var(--${name})`);
        return item;
      }));
      if (this.events.some((e) => e.length)) {
        const item = legend.appendChild(make("span", { textContent: "an event: conflict, divergence, excess sectors" }));
        item.style.setProperty("--c", "var(--alarm)");
      }
      this.now = make("p", { className: "now" });
      this.tells = make("p", { className: "tells" });
      this.tells.setAttribute("aria-live", "polite");
      this.listing = make("ol", { className: "listing" });
      this.from = make("p", { className: "from" });
      this.arcs = document.createElementNS(SVG, "svg");
      this.arcs.setAttribute("class", "arcs");
      this.arcs.setAttribute("viewBox", "0 0 320 40");
      this.arcs.setAttribute("preserveAspectRatio", "none");
      this.arcs.setAttribute("aria-hidden", "true");
      this.rows = this.data.warps.map(([cta, warp], w) => this.buildWarp(cta, warp, w));
      const warps = make("div", { className: "warps" }, make("div", { className: "warp" }, make("span"), this.arcs), ...this.rows.map((r) => r.row));
      this.banks = make("div", { className: "banks" });
      this.registers = make("div", { className: "wide" });
      this.registers.tabIndex = 0;
      this.root.append(controls, this.strip, this.scrub, legend, this.now, this.tells, warps, this.banks, this.listing, this.from, this.registers);
      this.root.addEventListener("keydown", (event) => this.key(event));
    }

    buildWarp(cta, warp, w) {
      const cells = Array.from({ length: WARP }, (_, lane) => make("b", { onclick: () => this.choose(w, lane) }));
      const label = make("button", { type: "button", textContent: this.data.ctas > 1 ? `CTA ${cta} warp ${warp}` : `warp ${warp}`, onclick: () => this.choose(w, this.lane) });
      const box = make("div", { className: "cells" }, ...cells);
      box.style.setProperty("--own", `var(--k${w % 8})`);
      return { row: make("div", { className: "warp" }, label, box), cells };
    }

    choose(warp, lane) {
      this.warp = warp;
      this.lane = lane;
      this.laneInput.value = lane;
      this.show();
    }

    /** A bar for each instruction: as high as the share of lanes that run it; a mark above where something is wrong. */
    drawStrip() {
      const svg = document.createElementNS(SVG, "svg"), n = this.steps().length;
      svg.setAttribute("class", "strip");
      svg.setAttribute("viewBox", `0 0 ${n} 48`);
      svg.setAttribute("preserveAspectRatio", "none");
      svg.setAttribute("aria-hidden", "true");
      const alive = this.data.warps.reduce((sum, [, , m]) => sum + count(m), 0);
      const paths = {};
      this.steps().forEach((step, i) => {
        const lanes = this.data.masks[step.l].reduce((sum, m) => sum + count(m), 0), high = Math.max(2, (lanes / alive) * 34);
        const kind = groupOf(this.data.code[step.c][2]);
        paths[kind] = `${paths[kind] || ""}M${i} 48v-${high.toFixed(1)}h.86v${high.toFixed(1)}z`;
        if (this.events[i].length) paths.event = `${paths.event || ""}M${i} 2h.86v7h-.86z`;
      });
      for (const [kind, d] of Object.entries(paths)) {
        const path = svg.appendChild(document.createElementNS(SVG, "path"));
        path.setAttribute("class", kind);
        path.setAttribute("d", d);
      }
      this.cursor = svg.appendChild(document.createElementNS(SVG, "path"));
      this.cursor.setAttribute("class", "at");
      svg.addEventListener("pointerdown", (event) => {
        const move = (e) => { const box = svg.getBoundingClientRect(); this.go(Math.floor(((e.clientX - box.left) / box.width) * n)); };
        move(event);
        svg.setPointerCapture(event.pointerId);
        svg.onpointermove = move;
        svg.onpointerup = () => { svg.onpointermove = null; };
      });
      return svg;
    }

    key(event) {
      if (/select|number/.test(`${event.target.type}`)) return;
      const go = { ArrowRight: this.at + 1, ArrowLeft: this.at - 1, Home: 0, End: this.steps().length - 1 }[event.key];
      if (go !== undefined) this.go(go);
      else if (event.key === "e") this.nextEvent();
      else if (event.key === " " && event.target.tagName !== "BUTTON") this.toggle();
      else return;
      event.preventDefault();
    }

    toggle() {
      if (this.timer) { clearInterval(this.timer); this.timer = null; this.play.textContent = "Play"; return; }
      if (this.at >= this.steps().length - 1) this.at = -1;
      this.play.textContent = "Pause";
      this.timer = setInterval(() => this.at < this.steps().length - 1 ? this.go(this.at + 1) : this.toggle(), 1000 / this.speed.value);
    }

    nextEvent() {
      const n = this.steps().length;
      for (let k = 1; k <= n; k++) {
        const i = (this.at + k) % n;
        if (!this.events[i].length) continue;
        const [access] = (this.steps()[i].a || []).filter((a) => a[6] > a[7]);
        const split = this.data.warps.findIndex((_, w) => this.splits(this.steps()[i], w));
        if (access) this.warp = access[0]; else if (split >= 0) this.warp = split;
        this.go(i);
        return;
      }
    }

    go(i) {
      this.started = true;
      this.at = Math.max(0, Math.min(this.steps().length - 1, i));
      this.show();
    }

    /** What lanes hold and do after instruction `at`: a replay from the begin. */
    replay() {
      const { warps } = this.data;
      const waits = warps.map(() => 0), done = warps.map(() => 0), held = new Map();
      this.steps().slice(0, this.at + 1).forEach((step, i) => {
        warps.forEach((_, w) => {
          waits[w] = (waits[w] | this.mask(step.b, w)) & ~this.mask(step.r, w);
          done[w] |= this.mask(step.x, w);
        });
        for (const [reg, w, pool] of step.w || []) held.set(reg * warps.length + w, [pool, i]);
      });
      return { waits, done, held };
    }

    show() {
      const step = this.steps()[this.at], [line, , kind] = this.data.code[step.c], { waits, done, held } = this.replay();
      this.scrub.value = this.at;
      this.cursor.setAttribute("d", `M${this.at} 0h1v48h-1z`);
      const total = this.data.total > this.steps().length ? ` (of ${this.data.total.toLocaleString("en")} in all)` : "";
      this.now.textContent = `Instruction ${this.at + 1} of ${this.steps().length}${total}, PTX line ${line}: ${kind}, in ${many(step.n, "thread")} of the grid`;
      this.rows.forEach(({ row, cells }, w) => {
        row.setAttribute("aria-current", String(w === this.warp));
        const alive = this.data.warps[w][2], runs = this.mask(step.l, w);
        cells.forEach((cell, lane) => {
          const state = !has(alive, lane) ? "none" : has(runs, lane) ? "active" : has(done[w], lane) ? "done" : has(waits[w], lane) ? "waiting" : "idle";
          cell.className = state + (w === this.warp && lane === this.lane ? " chosen" : "");
          cell.title = `lane ${lane}: ${{ active: "runs this", done: "has ended", waiting: "waits at a barrier", idle: "does not run this", none: "no thread" }[state]}`;
        });
      });
      this.tell(step, kind);
      this.drawArcs(step);
      this.drawAccess(step);
      this.list(line);
      this.showRegisters(step, held);
      for (const drawing of this.started ? this.drawings : []) this.showDrawing(drawing, step);
    }

    showDrawing(drawing, step) {
      const { name, verb } = drawing.own, hits = [];
      for (const [, array, how, size, , pool] of step.a || []) {
        if (this.data.arrays[array][0] !== name || VERBS[how] !== verb) continue;
        for (const address of this.data.pool[pool]) hits.push([address, size]);
      }
      const item = (this.data.arrays.find(([own]) => own === name) || [name, 4])[1];
      drawing.show(this.at, hits, item);
    }

    /** The instruction in a sentence, of the chosen warp or of the first one that runs it. */
    tell(step, kind) {
      const { warps } = this.data;
      const runs = (w) => this.mask(step.l, w) || this.mask(step.b, w) || this.mask(step.x, w);
      const w = runs(this.warp) ? this.warp : Math.max(0, warps.findIndex((_, k) => runs(k)));
      const lanes = count(this.mask(step.l, w)), who = warps[w] ? `Of CTA ${warps[w][0]}, warp ${warps[w][1]}, ` : "";
      const parts = [];
      for (const [, array, how, size, mask, , taken, ideal] of (step.a || []).filter((a) => a[0] === w)) {
        const [name] = this.data.arrays[array], shared = name === "shared memory", unit = shared ? "wavefront" : "sector";
        const did = { read: "read", written: "write", updated: "update" }[VERBS[how]];
        parts.push(`${who}${many(count(mask), "lane")} ${did} ${many(size, "byte")} each of ${name}: ${many(taken, unit)}, and ${ideal} would do.`);
        if (taken > ideal) parts.push(make("strong", { textContent: shared ? " Lanes meet at a bank: a bank conflict." : " The accesses are not coalesced." }));
      }
      for (const [sw, pool] of (step.s || []).filter(([own]) => own === w)) parts.push(`${who}${many(lanes, "lane")} exchange: ${this.exchange(this.data.pool[pool])}.`, sw < 0 ? "" : "");
      if (step.t !== undefined) {
        const jump = count(this.mask(step.t, w));
        if (this.splits(step, w)) parts.push(make("strong", { textContent: `${who}${many(jump, "lane")} of ${lanes} jump, the others go on: the warp diverges.` }));
        else parts.push(`${who}${jump ? `all ${lanes} lanes jump` : `no lane jumps, and all ${lanes} go on`}.`);
      } else if (kind === "control" && !this.mask(step.x, w)) parts.push(`${who}${many(lanes, "lane")} go on elsewhere.`);
      if (this.mask(step.b, w)) parts.push(this.mask(step.r, w) ? `${who}all lanes come to the barrier; the last have come, and the CTA goes on.` : `${who}${many(count(this.mask(step.b, w)), "lane")} come to the barrier and wait.`);
      if (this.mask(step.x, w)) parts.push(`${who}${many(count(this.mask(step.x, w)), "lane")} end.`);
      if (!parts.length) parts.push(`${who}${many(lanes, "lane")} ${lanes === 0 ? "run this: the condition before it is false" : "run this"}.`);
      this.tells.replaceChildren(...parts);
    }

    exchange(source) {
      const lanes = [...Array(WARP).keys()], x = source[0];
      const same = (test) => lanes.every(test);
      if (same((k) => source[k] === k)) return "each reads itself";
      if (same((k) => source[k] === (k ^ x))) return `each reads the lane whose number differs in ${x.toString(2).replace(/0+$/, "").length > 1 ? "the bits of" : "the bit of"} ${x}`;
      if (same((k) => source[k] === x)) return `all read lane ${x}`;
      const shift = source[16] - 16;
      return shift ? `each reads the lane ${Math.abs(shift)} ${shift < 0 ? "before" : "after"} it, where there is one` : "each reads the lane that it names";
    }

    drawArcs(step) {
      this.arcs.replaceChildren();
      const found = (step.s || []).find(([w]) => w === this.warp);
      if (!found) return;
      const source = this.data.pool[found[1]];
      const d = source.map((from, lane) => from === lane ? "" : `M${from * 10 + 5} 40C${from * 10 + 5} ${40 - Math.min(38, 6 + 2.4 * Math.abs(from - lane))} ${lane * 10 + 5} ${40 - Math.min(38, 6 + 2.4 * Math.abs(from - lane))} ${lane * 10 + 5} 40`).join("");
      const path = this.arcs.appendChild(document.createElementNS(SVG, "path"));
      path.setAttribute("d", d);
    }

    /** The banks of shared memory by how many words each gives, or the sectors and how much of each is used. */
    drawAccess(step) {
      this.banks.replaceChildren();
      const found = (step.a || []).find(([w]) => w === this.warp);
      if (!found) return;
      const [, array, , size, , pool] = found, name = this.data.arrays[array][0], addresses = this.data.pool[pool];
      const bars = make("div", { className: "bars" });
      if (name === "shared memory") {
        const words = Array.from({ length: 32 }, () => new Set());
        for (const a of addresses) for (let k = a >> 2; k < (a + size + 3) >> 2; k++) words[k & 31].add(k);
        const fair = Math.max(1, size / 4);
        words.forEach((own, k) => this.bar(bars, own.size, own.size > fair ? "over" : "", `bank ${k}: ${many(own.size, "word")}`));
        this.banks.append(make("span", { textContent: "32 banks" }), bars);
      } else {
        const sectors = new Map();
        for (const a of addresses) for (let b = a; b < a + size; b++) sectors.set(b >> 5, (sectors.get(b >> 5) || new Set()).add(b));
        for (const [k, own] of [...sectors].sort((a, b) => a[0] - b[0])) {
          const bar = this.bar(bars, 2, own.size < 32 ? "part" : "", `sector ${k} of ${name}: ${own.size} of 32 bytes`);
          bar.style.setProperty("--u", `${(own.size / 32) * 100}%`);
        }
        this.banks.append(make("span", { textContent: many(sectors.size, "sector") }), bars);
      }
      bars.style.setProperty("--n", Math.max(bars.children.length, 16));
    }

    bar(bars, high, name, title) {
      const bar = bars.appendChild(make("b", { className: name, title }));
      bar.style.setProperty("--v", high);
      return bar;
    }

    /** The lines of PTX around the current one, and the Python line that it comes from. */
    list(line) {
      const at = this.started ? window.warpfold.follow(this.part, line, false) : window.warpfold.ptx(this.part, line);
      this.listing.replaceChildren();
      if (!at) return;
      const lines = [...at.parentElement.querySelectorAll("[data-n]")], k = lines.indexOf(at);
      for (const own of lines.slice(Math.max(0, k - NEAR), k + NEAR + 1)) {
        this.listing.append(make("li", { className: own === at ? "at" : "" }, make("span", { textContent: own.dataset.n }), own.textContent.trim().replaceAll(/\s+/g, " ")));
      }
      const python = window.warpfold.python(this.part, at);
      this.from.replaceChildren(...(python ? ["from ", make("code", { textContent: python.textContent.trim() }), ` (line ${python.dataset.n}) `] : []),
        make("a", { href: `#${this.part}`, textContent: "show it in all columns", onclick: () => window.warpfold.follow(this.part, line, true) }));
    }

    showRegisters(step, held) {
      const live = new Set([...this.data.code[step.c][3], ...(step.w || []).filter(([, w]) => w === this.warp).map(([reg]) => reg)]);
      const rows = [...live].sort((a, b) => a - b).map((reg) => {
        const found = held.get(reg * this.data.warps.length + this.warp);
        if (!found) return null;
        const [name, kind] = this.data.regs[reg], value = this.data.pool[found[0]];
        const row = make("tr", { className: found[1] === this.at ? "fresh" : "" });
        row.append(make("td", { textContent: name }), make("td", { textContent: kind }), make("td", { textContent: this.value(value, this.lane) }), make("td", { textContent: this.all(value) }));
        return row;
      }).filter(Boolean);
      const [cta, warp] = this.data.warps[this.warp];
      const head = make("tr", {}, ...["register", "type", `lane ${this.lane}`, "all lanes"].map((t) => make("th", { textContent: t })));
      const body = make("tbody", {}, ...rows);
      this.registers.replaceChildren(make("table", { className: "registers" }, make("caption", { textContent: `Registers of CTA ${cta}, warp ${warp} that this instruction reads or that are read later` }), make("thead", {}, head), body));
    }

    value(held, lane) {
      if (held && held.in !== undefined) {
        const [name, item] = this.data.arrays[held.in], at = Array.isArray(held.at) ? held.at[lane] : held.at;
        return at % item ? `${name} + ${at} bytes` : `${name}[${at / item}]`;
      }
      return String(Array.isArray(held) ? held[lane] : held);
    }

    all(held) {
      const list = held && held.in !== undefined ? held.at : held;
      if (!Array.isArray(list)) return "the same";
      const step = list[1] - list[0];
      if (list.every((v, k) => typeof v === "number" && (k === 0 || v - list[k - 1] === step))) {
        return `${this.value(held, 0)}, ${this.value(held, 1)}, … ${this.value(held, 31)}`;
      }
      const runs = [];
      list.forEach((_, k) => { const text = this.value(held, k); if (runs.length && runs.at(-1)[0] === text) runs.at(-1)[1]++; else runs.push([text, 1]); });
      return runs.map(([text, n]) => (n > 1 ? `${n} × ${text}` : text)).join(", ");
    }
  }

  async function unpacked(node) {
    const bytes = Uint8Array.from(atob(node.textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  }

  window.warpfold.players = Promise.all([...document.querySelectorAll(".player")].map(async (root) => {
    const data = await unpacked(document.getElementById(`d-${root.dataset.play}`));
    return new Player(root, data);
  }));
})();
