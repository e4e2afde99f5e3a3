"use strict";
// An instruction of the recording in words: what its lanes do, what that costs, and what a register holds.
(() => {
  const WARP = 32;
  const VERBS = ["read", "written", "updated"],
    DOES = ["read", "write", "update"];
  const SHARED = "shared memory";
  const count = (mask) => {
    let n = 0;
    for (mask >>>= 0; mask; mask = (mask & (mask - 1)) >>> 0) n++;
    return n;
  };
  const has = (mask, lane) => ((mask >>> lane) & 1) === 1;
  const many = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
  const make = (tag, more = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), more);
    node.append(...children);
    return node;
  };
  const bad = (text) => make("strong", { textContent: text });

  /** The lanes of a warp in a set of lanes of all warps, by its number. */
  const lanesOf = (data, set, warp) => (set === undefined ? 0 : data.masks[set][warp]);

  /** Whether some lanes of a warp jump and others do not. */
  function splits(data, step, warp) {
    const jump = count(lanesOf(data, step.t, warp));
    return jump > 0 && jump < count(lanesOf(data, step.l, warp));
  }

  /** What is wrong with an instruction: bank conflicts, sectors beyond the fewest, a branch both ways. */
  function faults(data, step) {
    const found = new Set();
    for (const [, array, , , , , taken, ideal] of step.a || []) {
      if (taken > ideal) found.add(data.arrays[array][0] === SHARED ? "conflict" : "sectors");
    }
    if (step.t !== undefined && data.warps.some((_, w) => splits(data, step, w))) found.add("diverges");
    return [...found];
  }

  /** The warp to speak of: the chosen one, or the first that takes part. */
  function speaker(data, step, warp) {
    const takes = (w) => lanesOf(data, step.l, w) || lanesOf(data, step.b, w) || lanesOf(data, step.x, w);
    return takes(warp)
      ? warp
      : Math.max(
          0,
          data.warps.findIndex((_, w) => takes(w)),
        );
  }

  /** What the lanes of a warp do, as text and marked text. */
  function sentence(data, step, chosen, lane) {
    const w = speaker(data, step, chosen),
      [cta, warp] = data.warps[w],
      who = `Of CTA ${cta}, warp ${warp}, `;
    const lanes = count(lanesOf(data, step.l, w)),
      parts = [];
    for (const access of step.a || []) if (access[0] === w) parts.push(...accessed(data, access, who));
    for (const [own, pool] of step.s || [])
      if (own === w) parts.push(`${who}${many(lanes, "lane")} exchange: ${exchanged(data.pool[pool])}.`);
    if (step.t !== undefined) parts.push(branched(data, step, w, lanes, who));
    const comes = count(lanesOf(data, step.b, w)),
      goes = lanesOf(data, step.r, w),
      ends = count(lanesOf(data, step.x, w));
    if (comes)
      parts.push(
        goes
          ? `${who}${many(comes, "lane")} come to the barrier as the last of their CTA, which goes on.`
          : `${who}${many(comes, "lane")} come to the barrier and wait.`,
      );
    else if (goes) parts.push(`The last have come to the barrier: the CTA goes on.`);
    if (ends) parts.push(`${who}${many(ends, "lane")} end.`);
    if (parts.length) return parts;
    if (!lanes) return [`${who}no lane runs this: its condition is false.`];
    const written = (step.w || []).filter(([, own]) => own === w);
    if (!written.length) return [`${who}${many(lanes, "lane")} run this.`];
    const values = written.map(([reg, , pool]) => `${data.regs[reg][0]} is ${value(data, data.pool[pool], lane)}`);
    return [`${who}${many(lanes, "lane")} run this; in lane ${lane} ${values.join(", ")} then.`];
  }

  function accessed(data, [, array, how, size, mask, , taken, ideal], who) {
    const [name] = data.arrays[array],
      shared = name === SHARED,
      unit = shared ? "wavefront" : "sector";
    const text = `${who}${many(count(mask), "lane")} ${DOES[how]} ${many(size, "byte")} each of ${name}: ${many(taken, unit)}`;
    if (taken <= ideal) return [`${text}, the fewest possible. `];
    return [
      `${text}, and ${ideal} would do. `,
      bad(shared ? "Lanes meet at a bank: a bank conflict. " : "The accesses are not coalesced. "),
    ];
  }

  function branched(data, step, w, lanes, who) {
    const jump = count(lanesOf(data, step.t, w));
    if (splits(data, step, w))
      return bad(`${who}${many(jump, "lane")} of ${lanes} jump, the others go on: the warp diverges.`);
    return jump ? `${who}all ${lanes} lanes jump.` : `${who}none of ${many(lanes, "lane")} jumps.`;
  }

  /** Which lane each lane reads. */
  function exchanged(source) {
    const lanes = [...Array(WARP).keys()],
      [x] = source,
      shift = source[16] - 16;
    if (lanes.every((k) => source[k] === k)) return "each reads itself";
    if (lanes.every((k) => source[k] === (k ^ x)))
      return `each reads the lane that is its own number with ${x} flipped, ${x === 1 ? "its neighbour" : `at distance ${x}`}`;
    if (lanes.every((k) => source[k] === x)) return `all read lane ${x}`;
    return shift
      ? `each reads the lane ${Math.abs(shift)} ${shift < 0 ? "before" : "after"} it, where there is one`
      : "each reads the lane that it names";
  }

  /** What a lane holds: of a pointer the element. */
  function value(data, held, lane) {
    if (held && held.in !== undefined) {
      const [name, item] = data.arrays[held.in],
        at = Array.isArray(held.at) ? held.at[lane] : held.at;
      return at % item ? `${name} + ${at} bytes` : `${name}[${at / item}]`;
    }
    return String(Array.isArray(held) ? held[lane] : held);
  }

  /** What all lanes hold, in short. */
  function values(data, held) {
    const list = held && held.in !== undefined ? held.at : held;
    if (!Array.isArray(list)) return "the same";
    const step = list[1] - list[0];
    if (list.every((v, k) => typeof v === "number" && (k === 0 || v - list[k - 1] === step))) {
      return `${value(data, held, 0)}, ${value(data, held, 1)}, … ${value(data, held, WARP - 1)}`;
    }
    const runs = [];
    list.forEach((_, k) => {
      const text = value(data, held, k);
      if (runs.at(-1)?.[0] === text) runs.at(-1)[1]++;
      else runs.push([text, 1]);
    });
    return runs.map(([text, n]) => (n > 1 ? `${n} × ${text}` : text)).join(", ");
  }

  window.warpfold.words = { VERBS, SHARED, count, has, many, make, lanesOf, splits, faults, sentence, value, values };
})();
