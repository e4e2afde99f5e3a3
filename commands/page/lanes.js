"use strict";
// What is drawn of one instruction: the exchange between lanes, banks or sectors, registers, and the strip of all of them.
(() => {
  const SVG = "http://www.w3.org/2000/svg",
    WARP = 32,
    BANKS = 32,
    SECTOR = 32;
  const { SHARED, count, many, make, lanesOf, value, values } = window.warpfold.words;
  const GROUPS = {
    memory: ["load", "store", "atomic"],
    exchange: ["shuffle", "vote"],
    wait: ["barrier", "fence"],
    arithmetic: ["float", "integer", "tensor"],
    other: [],
  };
  const groupOf = (kind) => Object.keys(GROUPS).find((name) => GROUPS[name].includes(kind)) || "other";

  /** An element of SVG. */
  function svg(tag, attributes, ...children) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, text] of Object.entries(attributes)) node.setAttribute(name, text);
    node.append(...children);
    return node;
  }

  const stretched = (name, box) =>
    svg("svg", { class: name, viewBox: box, preserveAspectRatio: "none", "aria-hidden": "true" });

  /** A bar for each instruction: as high as the share of lanes that run it; a mark above where something is wrong. */
  function strip(data, faults) {
    const picture = stretched("strip", `0 0 ${data.steps.length} 48`),
      paths = {};
    const alive = data.warps.reduce((sum, [, , lanes]) => sum + count(lanes), 0),
      wide = data.steps.length > 150 ? 1 : 0.86;
    data.steps.forEach((step, i) => {
      const lanes = data.masks[step.l].reduce((sum, m) => sum + count(m), 0),
        high = Math.max(2, (lanes / alive) * 34).toFixed(1);
      const kind = groupOf(data.code[step.c][2]);
      paths[kind] = `${paths[kind] || ""}M${i} 48v-${high}h${wide}v${high}z`;
      if (faults[i].length) paths.event = `${paths.event || ""}M${i} 2h${wide}v7h-${wide}z`;
    });
    for (const [kind, d] of Object.entries(paths)) picture.append(svg("path", { class: kind, d }));
    picture.cursor = picture.appendChild(svg("path", { class: "at" }));
    return picture;
  }

  /** The colours of the strip, those that it has. */
  function legend(data, faults) {
    const used = new Set(data.steps.map((step) => groupOf(data.code[step.c][2])));
    const names = Object.keys(GROUPS)
      .filter((name) => used.has(name))
      .map((name) => [name, name]);
    if (faults.some((found) => found.length))
      names.push(["alarm", "an event: bank conflict, divergence, excess sectors"]);
    return make(
      "p",
      { className: "legend" },
      ...names.map(([colour, text]) => {
        const item = make("span", { textContent: text });
        item.style.setProperty("--c", `var(--${colour})`);
        return item;
      }),
    );
  }

  /** Arcs from the lanes that are read to those that read them. */
  function arcs(picture, data, step, warp) {
    const found = (step.s || []).find(([own]) => own === warp);
    picture.replaceChildren();
    if (!found) return;
    const d = data.pool[found[1]].map((from, lane) => {
      const top = 40 - Math.min(38, 6 + 2.4 * Math.abs(from - lane)),
        a = from * 10 + 5,
        b = lane * 10 + 5;
      return from === lane ? "" : `M${a} 40C${a} ${top} ${b} ${top} ${b} 40`;
    });
    picture.append(svg("path", { d: d.join("") }));
  }

  function bar(bars, high, name, title) {
    const made = bars.appendChild(make("b", { className: name, title }));
    made.style.setProperty("--v", high);
    return made;
  }

  /** The banks of shared memory by how many words each gives, or the sectors by how much of each is used. */
  function access(box, data, step, warp) {
    box.replaceChildren();
    const found = (step.a || []).find(([own]) => own === warp);
    if (!found) return;
    const [, array, , size, , pool] = found,
      [name] = data.arrays[array],
      bars = make("div", { className: "bars" });
    const text = name === SHARED ? banks(bars, data.pool[pool], size) : sectors(bars, data.pool[pool], size, name);
    bars.style.setProperty("--n", Math.max(bars.children.length, 16));
    box.append(make("span", { textContent: text }), bars);
  }

  function banks(bars, addresses, size) {
    const words = Array.from({ length: BANKS }, () => new Set()),
      fair = Math.max(1, size / 4);
    for (const a of addresses) for (let k = a >> 2; k < (a + size + 3) >> 2; k++) words[k % BANKS].add(k);
    words.forEach((own, k) =>
      bar(bars, own.size, own.size > fair ? "over" : "", `bank ${k}: ${many(own.size, "word")}`),
    );
    return `${BANKS} banks`;
  }

  function sectors(bars, addresses, size, name) {
    const used = new Map();
    for (const a of addresses)
      for (let b = a; b < a + size; b++)
        used.set(Math.floor(b / SECTOR), (used.get(Math.floor(b / SECTOR)) || new Set()).add(b));
    for (const [k, own] of [...used].sort((a, b) => a[0] - b[0])) {
      const made = bar(
        bars,
        2,
        own.size < SECTOR ? "part" : "",
        `sector ${k} of ${name}: ${own.size} of ${SECTOR} bytes are asked for`,
      );
      made.style.setProperty("--u", `${(own.size / SECTOR) * 100}%`);
    }
    return many(used.size, "sector");
  }

  /** The registers of a warp: `held` has by register and warp the value, and the instruction that wrote it. */
  function registers(box, data, step, held, warp, lane, at) {
    const [, , , read, later] = data.code[step.c];
    const written = [...new Set((step.w || []).filter(([, own]) => own === warp).map(([reg]) => reg))];
    const near = [...written, ...read.filter((reg) => !written.includes(reg))],
      far = later.filter((reg) => !near.includes(reg));
    const rows = (list) =>
      list.map((reg) => row(data, reg, held.get(reg * data.warps.length + warp), lane, at)).filter(Boolean);
    const first = rows(near),
      rest = rows(far),
      open = box.querySelector("details")?.open;
    const [cta, number] = data.warps[warp];
    const caption = `Registers of CTA ${cta}, warp ${number}: written or read here`;
    box.replaceChildren(
      first.length
        ? table(caption, lane, first)
        : make("p", { textContent: "This instruction reads and writes no register." }),
    );
    if (!rest.length) return;
    const fold = box.appendChild(make("details", { open }));
    fold.append(
      make("summary", { textContent: `${many(rest.length, "register")} that later instructions read` }),
      table("", lane, rest),
    );
  }

  function table(caption, lane, rows) {
    const head = ["register", "type", `lane ${lane}`, "all lanes"].map((textContent) => make("th", { textContent }));
    const made = make(
      "table",
      { className: "registers" },
      make("thead", {}, make("tr", {}, ...head)),
      make("tbody", {}, ...rows),
    );
    if (caption) made.prepend(make("caption", { textContent: caption }));
    return made;
  }

  function row(data, reg, found, lane, at) {
    if (!found) return null;
    const [pool, written] = found,
      text = values(data, data.pool[pool]);
    const cells = [...data.regs[reg], value(data, data.pool[pool], lane)].map((textContent) =>
      make("td", { textContent }),
    );
    return make(
      "tr",
      { className: written === at ? "fresh" : "" },
      ...cells,
      make("td", { textContent: text, title: text }),
    );
  }

  window.warpfold.lanes = { stretched, strip, legend, arcs, access, registers };
})();
