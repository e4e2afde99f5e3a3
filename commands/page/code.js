"use strict";
// The columns of code: a line lights up in all of them, folds open where something is found, and one can search.
(() => {
  const style = document.head.appendChild(document.createElement("style"));
  let pinned = null;

  /** The classes of a line that name its Python line and its node. */
  const names = (line) =>
    ["l", "n"].map((k) => [...line.classList].find((c) => c[0] === k && /^\d+$/.test(c.slice(1))));

  function light(line) {
    const [place, node] = line ? names(line) : [];
    const rules = [];
    if (place)
      rules.push(
        `.code .${place}{background:var(--lit)}`,
        `.code details:not([open]):has(.${place})>summary{background:var(--lit)}`,
      );
    if (node) rules.push(`.code .${node}{background:var(--lit-strong)}`);
    style.textContent = rules.join("");
  }

  /** Scrolls each column of a part to the first line that is lit with `line`. */
  function reveal(line) {
    const [place, node] = names(line);
    for (const code of line.closest(".columns").querySelectorAll(".code")) {
      if (code.contains(line)) continue;
      const found = (node && code.querySelector(`.${node}`)) || (place && code.querySelector(`.${place}`));
      if (found) show(found, code);
    }
  }

  function show(line, code = line.closest(".code")) {
    const fold = line.closest("details");
    if (fold) fold.open = true;
    code.scrollTop += line.getBoundingClientRect().top - code.getBoundingClientRect().top - code.clientHeight / 3;
  }

  const lineOf = (event) => event.target.closest?.(".code i");

  for (const columns of document.querySelectorAll(".columns")) {
    columns.addEventListener("pointerover", (event) => pinned || light(lineOf(event)));
    columns.addEventListener("pointerleave", () => pinned || light(null));
    columns.addEventListener("click", (event) => lineOf(event) && pin(lineOf(event)));
    columns.addEventListener("focusin", (event) => event.target.classList.contains("code") && walk(event.target));
  }

  function pin(line) {
    pinned = pinned === line ? null : line;
    light(line);
    if (pinned) reveal(line);
  }

  /** In a column that has the focus, arrows move from line to line, and Enter keeps one lit. */
  function walk(code) {
    if (code.dataset.walks) return;
    code.dataset.walks = "1";
    let at = -1;
    code.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const lines = [...code.querySelectorAll("i")].filter((i) => i.offsetParent);
      if (step) {
        at = Math.max(0, Math.min(lines.length - 1, at + step));
        pinned = null;
        light(lines[at]);
        show(lines[at], code);
      } else if (event.key === "Enter" && lines[at]) pin(lines[at]);
      else return;
      event.preventDefault();
    });
  }

  const search = document.getElementById("search"),
    count = search.nextElementSibling;
  let found = [],
    at = 0;

  function find() {
    for (const mark of document.querySelectorAll(".code mark")) mark.replaceWith(mark.textContent);
    const text = search.value.trim().toLowerCase();
    found = [];
    if (text.length > 1) {
      for (const line of document.querySelectorAll(".code i")) {
        line.normalize();
        const k = line.textContent.toLowerCase().indexOf(text);
        if (k < 0 || line.childNodes.length !== 1) continue;
        const middle = line.firstChild.splitText(k);
        middle.splitText(text.length);
        const mark = document.createElement("mark");
        middle.replaceWith(mark);
        mark.append(middle);
        found.push(line);
      }
    }
    at = 0;
    tell();
  }

  function tell() {
    count.textContent = search.value.trim().length < 2 ? "" : found.length ? `${at + 1} of ${found.length}` : "none";
    if (!found.length) return;
    light(found[at]);
    show(found[at]);
    found[at].closest(".column").scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
  }

  let waits = 0;
  search.addEventListener("input", () => {
    clearTimeout(waits);
    waits = setTimeout(find, 120);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !found.length) return;
    at = (at + (event.shiftKey ? -1 : 1) + found.length) % found.length;
    tell();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || /input|select|textarea/i.test(event.target.tagName)) return;
    event.preventDefault();
    search.focus();
  });

  /** Lights the line of PTX with this number in a part, as the player goes on. */
  window.warpfold = {
    ptx: (part, number) => document.querySelector(`#${part} .ptx .code [data-n="${number}"]`),
    follow(part, number, reveals) {
      document.querySelector(`#${part} .ptx .code .now`)?.classList.remove("now");
      const line = this.ptx(part, number);
      if (!line) return null;
      line.classList.add("now");
      pinned = null;
      light(line);
      if (reveals) {
        show(line);
        reveal(line);
      }
      return line;
    },
    python(part, line) {
      const place = line && names(line)[0];
      return place ? document.querySelector(`#${part} .python .code .${place}`) : null;
    },
  };
})();
