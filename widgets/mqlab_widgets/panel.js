// A panel: the lives that Python encoded (see lives.py), drawn as one <svg>, and the rows of a
// diagram. The first of the player's files (player.py lists them); all of them are one module.

const SVG = "http://www.w3.org/2000/svg";
const SPARE = 3; // rows drawn above and below those that are seen

const make = (tag, props = {}, ...kids) => {
  const el = Object.assign(document.createElement(tag), props);
  el.append(...kids);
  return el;
};

/** A panel: who is alive at a step, patched into one <svg>. */
class Panel {
  constructor(lives, shapes, box, scale) {
    this.svg = document.createElementNS(SVG, "svg");
    this.scale = scale;
    this.title = box.title;
    this.rows = []; // from which row of a diagram to which it is drawn (`Rows` says)
    [this.width] = box.size;
    for (const [name, value] of Object.entries({
      class: "picture", role: "img", "aria-label": box.title, width: this.width * scale,
    })) this.svg.setAttribute(name, value);
    this.resize(box.size[1]);
    let born = 0, at = 0;
    this.lives = spell(lives).map((key, i) => {
      const [tag, ...names] = shapes[lives.shape[i]];
      born += lives.born[i];
      const first = {};
      for (const name of names) first[name] = lives.val[at++];
      return { key, tag, first, born, end: born + lives.len[i], up: lives.up[i],
               lines: Object.entries(lives.tl[i] || {}).map(timeline),
               now: null, el: null, last: null };
    });
  }

  resize(height) {
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    this.svg.setAttribute("height", height * this.scale);
  }

  /** If something appears or says something else after `before`, up to `step`. */
  isNew(before, step) {
    this.news ??= newsOf(this.lives);
    const k = latest(this.news, step);
    return k >= 0 && this.news[k] > before;
  }

  /** For who hears the picture: its title and all that is written in it, from top to bottom. */
  describe() {
    const said = [...this.svg.querySelectorAll("text")].map((el) => el.textContent)
      .filter((text) => text && text !== this.title);
    this.svg.setAttribute("aria-label", [this.title, said.join(", ")].filter(Boolean).join(": "));
  }

  seek(step) {
    const lives = this.lives;
    const root = { el: this.svg, last: null };
    const [low, high] = this.rows;
    for (let i = 0; i < lives.length; i++) {
      const life = lives[i];
      const parent = life.up ? lives[i - life.up] : root;
      if (step < life.born || step >= life.end || life.row < low || life.row >= high
          || !parent.el) {
        if (life.el) { life.el.remove(); life.el = null; }
        continue;
      }
      if (!life.el) begin(life, parent);
      parent.last = life.el;
      life.last = null;
      for (const { name, steps, values } of life.lines) {
        const k = latest(steps, step);
        const value = k < 0 ? life.first[name] ?? null : values[k];
        if (life.now[name] !== value) { life.now[name] = value; put(life.el, name, value); }
      }
    }
    root.last = null;
  }
}

/** The keys in full: one that ends in `*` has its number from the life above it. */
function spell({ key, up }) {
  const full = [];
  key.forEach((short, i) => {
    const above = up[i] ? full[i - up[i]] : "";
    full.push(above && short.endsWith(":*")
      ? short.slice(0, -1) + above.slice(above.lastIndexOf(":") + 1) : short);
  });
  return full;
}

/** The steps, in order, at which a panel has something new: not those that take a mark away. */
function newsOf(lives) {
  const steps = new Set();
  for (const { born, first, lines } of lives) {
    steps.add(born);
    for (const { name, steps: at, values } of lines) at.forEach((step, k) => {
      const was = (k ? values[k - 1] : first[name]) ?? "";
      const calm = name === "class" && /(^| )fresh( |$)/.test(was);
      const tells = ["#", "class", "transform"].includes(name);
      if (tells && values[k] !== null && !calm) steps.add(step);
    });
  }
  return [...steps].sort((a, b) => a - b);
}

function timeline([name, flat]) {
  const steps = [], values = [];
  for (let i = 0, step = 0; i < flat.length; i += 2) {
    steps.push(step += flat[i]);
    values.push(flat[i + 1]);
  }
  return { name, steps, values };
}

/** The index of the last entry at or before `step`, -1 for none. */
function latest(steps, step) {
  let low = 0, high = steps.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (steps[mid] <= step) low = mid + 1; else high = mid;
  }
  return low - 1;
}

function begin(life, parent) {
  life.el = document.createElementNS(SVG, life.tag);
  life.el.mqlabKey = life.key;
  life.now = { ...life.first };
  for (const name in life.first) put(life.el, name, life.first[name]);
  parent.el.insertBefore(life.el, parent.last ? parent.last.nextSibling : parent.el.firstChild);
}

function put(el, name, value) {
  if (name === "#") el.textContent = value ?? "";
  else if (value === null) el.removeAttribute(name);
  else el.setAttribute(name, value);
}

/** The rows of a diagram, fitted to its height: cropped to whole ones, the current in sight. */
class Rows {
  constructor(panel, { head, row, edge, count, most }, shows) {
    Object.assign(this, { panel, head, row, edge, most, count: Math.max(count, 1) });
    this.view = panel.lives.find((life) => life.key === "view");
    this.world = panel.lives.find((life) => life.key === "world");
    let last = -1;
    this.at = [0, ...shows.map((shown) => Math.max(last += shown ? 1 : 0, 0))];
    for (const life of panel.lives) {
      const [kind, step] = life.up ? life.key.split(":") : [];
      if (kind === "row" || kind === "fold") life.row = this.at[step];
    }
    this.fit(Infinity);
  }

  /** At most `height` px, in whole rows. */
  fit(height) {
    const room = Math.floor((height - this.head - this.edge) / this.row);
    this.fits = Math.max(1, Math.min(room, this.most));
    this.seen = Math.min(this.fits, this.count);
    this.panel.resize(this.head + this.edge + this.seen * this.row);
  }

  /** The current row at two thirds, as Python's window has it (see window.py). Only what is seen
   *  is drawn, and a few rows around it, which are in place when it scrolls. */
  seek(step) {
    const first = Math.max(0, this.at[step] - Math.floor((2 * this.seen) / 3));
    const start = Math.max(0, Math.min(first, this.count - this.seen));
    this.panel.rows = [start - SPARE, start + this.seen + SPARE];
    this.panel.seek(step);
    const high = String(this.seen * this.row + 2 * this.edge);
    if (this.view.el.getAttribute("height") !== high) this.view.el.setAttribute("height", high);
    this.world.el.setAttribute("transform", `translate(0,${this.edge - start * this.row})`);
  }
}
