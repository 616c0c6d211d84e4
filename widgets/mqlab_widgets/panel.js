// A panel: the elements that Python encoded (see encoding.py), drawn as one <svg>, and the rows of
// a diagram. The first of the player's files (player.py lists them); all of them are one module.

const SVG = "http://www.w3.org/2000/svg";
const SPARE = 3; // rows drawn above and below those that are seen

const make = (tag, props = {}, ...kids) => {
  const el = Object.assign(document.createElement(tag), props);
  el.append(...kids);
  return el;
};

/** A panel: the elements that exist at a step, patched into one <svg>. `before`: the same panel of
 *  the payload before, which leaves what it has drawn. Most of it stays, and what moves is seen to
 *  move. */
class Panel {
  constructor(packed, shapes, box, scale, before) {
    this.svg = before?.svg ?? document.createElementNS(SVG, "svg");
    this.left = before && new Map([...before.left ?? [], ...before.drawn]);
    this.scale = scale;
    this.title = box.title;
    this.rows = []; // from which row of a diagram to which it is drawn (`Rows` says)
    [this.width] = box.size;
    for (const [name, value] of Object.entries({
      class: "picture", role: "img", "aria-label": box.title, width: this.width * scale,
    })) this.svg.setAttribute(name, value);
    this.resize(box.size[1]);
    let born = 0, at = 0;
    this.elements = spell(packed).map((key, i) => {
      const [tag, ...names] = shapes[packed.shape[i]];
      born += packed.born[i];
      const first = {};
      for (const name of names) first[name] = packed.val[at++];
      return { key, tag, first, born, end: born + packed.len[i], up: packed.up[i],
               lines: Object.entries(packed.tl[i] || {}).map(timeline),
               now: null, el: null, last: null };
    });
  }

  resize(height) {
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    this.svg.setAttribute("height", height * this.scale);
  }

  /** Key → element of all that is drawn now. */
  get drawn() { return new Map(this.elements.filter(({ el }) => el).map((one) => [one.key, one])); }

  /** If something appears or says something else after `before`, up to `step`. */
  isNew(before, step) {
    this.news ??= newsOf(this.elements);
    const k = latest(this.news, step);
    return k >= 0 && this.news[k] > before;
  }

  /** For screen readers: its title and all that is written in it, from top to bottom. */
  describe() {
    const said = [...this.svg.querySelectorAll("text")].map((el) => el.textContent)
      .filter((text) => text && text !== this.title);
    this.svg.setAttribute("aria-label", [this.title, said.join(", ")].filter(Boolean).join(": "));
  }

  seek(step) {
    const elements = this.elements;
    const root = { el: this.svg, last: null };
    const [low, high] = this.rows;
    const isThere = ({ born, end, row }) =>
      step >= born && step < end && !(row < low || row >= high);
    const keys = this.left && new Set(elements.filter(isThere).map(({ key }) => key));
    if (this.left) this.clear((key) => keys.has(key));
    for (let i = 0; i < elements.length; i++) {
      const element = elements[i];
      const parent = element.up ? elements[i - element.up] : root;
      if (!isThere(element) || !parent.el) {
        if (element.el) { element.el.remove(); element.el = null; }
        continue;
      }
      if (!element.el) begin(element, parent, this.left?.get(element.key));
      parent.last = element.el;
      element.last = null;
      for (const { name, steps, values } of element.lines) {
        const k = latest(steps, step);
        const value = k < 0 ? element.first[name] ?? null : values[k];
        if (element.now[name] !== value) put(element.el, name, element.now[name] = value);
      }
    }
    root.last = null;
    if (!this.left) return;
    const { drawn } = this;
    this.clear((key, el) => drawn.get(key)?.el === el);
    this.left = null;
  }

  /** Take away what the panel before has left, but for what `stays`. */
  clear(stays) {
    for (const [key, { el }] of this.left) {
      if (stays(key, el)) continue;
      el.remove();
      this.left.delete(key);
    }
  }
}

/** The keys in full: one that ends in `*` has its number from the element above it. */
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
function newsOf(elements) {
  const steps = new Set();
  for (const { born, first, lines } of elements) {
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

/** Draw an element, of what was `left` there under its key where that is the same thing. */
function begin(element, parent, left) {
  const stays = left?.tag === element.tag;
  const was = stays ? left.now : {};
  const el = element.el = stays ? left.el : document.createElementNS(SVG, element.tag);
  el.mqlabKey = element.key;
  element.now = { ...element.first };
  for (const name in was) if (!(name in element.first)) put(el, name, null);
  for (const name in element.first) {
    if (was[name] !== element.first[name]) put(el, name, element.first[name]);
  }
  const next = parent.last ? parent.last.nextSibling : parent.el.firstChild;
  if (next !== el) parent.el.insertBefore(el, next);
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
    this.view = panel.elements.find((element) => element.key === "view");
    this.world = panel.elements.find((element) => element.key === "world");
    let last = -1;
    this.at = [0, ...shows.map((shown) => Math.max(last += shown ? 1 : 0, 0))];
    for (const element of panel.elements) {
      const [kind, step] = element.up ? element.key.split(":") : [];
      if (kind === "row" || kind === "fold") element.row = this.at[step];
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
