"use strict";
// The drawings: what an element is, whose it is, and what the player's instruction touches.
(() => {
  const CELL = 10,
    SVG = "http://www.w3.org/2000/svg";

  /** A path around cells: runs of elements of one line are one box. */
  function boxes(elements, width) {
    let path = "",
      start = -1,
      count = 0;
    const flush = () => {
      if (count)
        path += `M${(start % width) * CELL} ${Math.floor(start / width) * CELL}h${count * CELL}v${CELL}h-${count * CELL}z`;
    };
    for (const e of elements) {
      if (e === start + count && e % width) {
        count++;
        continue;
      }
      flush();
      start = e;
      count = 1;
    }
    flush();
    return path;
  }

  function place(shape, element) {
    const index = [];
    for (const size of [...shape].reverse()) {
      index.unshift(element % size);
      element = Math.floor(element / size);
    }
    return index.length ? `[${index.join(", ")}]` : "";
  }

  class Drawing {
    constructor(figure, owned, grid, go) {
      this.own = owned;
      this.grid = grid;
      this.go = go;
      this.said = figure.querySelector(".said");
      const picture = figure.querySelector(".picture"),
        h = Math.ceil(owned.elements / owned.width);
      this.over = document.createElementNS(SVG, "svg");
      this.over.setAttribute("viewBox", `0 0 ${owned.width * CELL} ${h * CELL}`);
      this.over.setAttribute("preserveAspectRatio", "none");
      this.over.setAttribute("class", "over");
      this.over.setAttribute("aria-hidden", "true");
      for (const name of ["veil", "same", "hit"]) {
        this[name] = this.over.appendChild(document.createElementNS(SVG, "path"));
        this[name].setAttribute("class", name);
      }
      picture.append(this.over);
      picture.tabIndex = 0;
      picture.setAttribute("aria-label", `${owned.name}: arrow keys go from element to element`);
      this.cursor = 0;
      picture.addEventListener("pointermove", (event) => this.point(this.at(event, picture)));
      picture.addEventListener("pointerleave", () => this.point(-1));
      picture.addEventListener("click", (event) => this.jump(this.at(event, picture)));
      picture.addEventListener("keydown", (event) => this.key(event));
    }

    at(event, picture) {
      const box = picture.getBoundingClientRect(),
        { width, elements } = this.own;
      const x = Math.floor(((event.clientX - box.left) / box.width) * width);
      const y = Math.floor(((event.clientY - box.top) / box.height) * Math.ceil(elements / width));
      const e = y * width + Math.max(0, Math.min(width - 1, x));
      return e < elements ? e : -1;
    }

    key(event) {
      const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.own.width, ArrowUp: -this.own.width }[event.key];
      if (event.key === "Enter") this.jump(this.cursor);
      if (!step) return;
      event.preventDefault();
      const next = this.cursor + step;
      if (next >= 0 && next < this.own.elements) this.point((this.cursor = next));
    }

    point(e) {
      const { owner, shape, name, step, line, touches, verb } = this.own;
      const thread = e < 0 ? -1 : owner[e];
      this.same.setAttribute(
        "d",
        thread < 0
          ? ""
          : boxes(
              this.elements((k) => owner[k] === thread),
              this.own.width,
            ),
      );
      if (e < 0) {
        this.said.textContent = "";
        return;
      }
      const element = `${name}${place(shape, e)}`;
      if (thread < 0) {
        this.said.textContent = `${element}: no access`;
        return;
      }
      const { per_cta } = this.grid,
        within = thread % per_cta;
      const who = `CTA ${Math.floor(thread / per_cta)}, warp ${within >> 5}, lane ${within & 31}`;
      const often = touches[e] > 1 ? `, ${touches[e]} accesses in all` : "";
      this.said.textContent = `${element}: first ${verb} by ${who} at instruction ${step[e] + 1}, PTX line ${line[e]}${often}`;
    }

    jump(e) {
      if (e >= 0 && this.own.owner[e] >= 0) this.go(this.own.step[e], this.own.owner[e]);
    }

    elements(test) {
      const found = [];
      for (let e = 0; e < this.own.elements; e++) if (test(e)) found.push(e);
      return found;
    }

    /** Shows the state after instruction `i`, which touches the bytes of `hits` ([address, size] each). */
    show(i, hits, item) {
      const { step, owner, width, elements } = this.own;
      this.veil.setAttribute(
        "d",
        boxes(
          this.elements((e) => owner[e] < 0 || step[e] > i),
          width,
        ),
      );
      const found = new Set();
      for (const [address, size] of hits) {
        for (let e = Math.floor(address / item); e * item < address + size; e++) if (e < elements) found.add(e);
      }
      this.hit.setAttribute(
        "d",
        boxes(
          [...found].sort((a, b) => a - b),
          width,
        ),
      );
    }
  }

  window.warpfold.Drawing = Drawing;
})();
