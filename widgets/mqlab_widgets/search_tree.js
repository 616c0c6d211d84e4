// A sample of a search as a tree by depth. Follows player.js and widget.js in one module, whose
// names it uses. Text from Python only ever becomes textContent.

const EDGE = 14, LOW = 16; // px at the sides; px of the numbers below the tree
const SPAN = 10; // choices across the whole width, however few there were yet
const NEAR = 18; // px from a state at which a click still means it

const draw = (tag, className) => {
  const el = document.createElementNS(SVG, tag);
  el.setAttribute("class", className);
  return el;
};

const fill = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

const short = (n) => (n < 1_000 ? `${n}` : n < 9_950 ? `${(n / 1_000).toFixed(1)}k`
  : n < 1e6 ? `${Math.round(n / 1_000)}k` : `${(n / 1e6).toFixed(1)}M`);

/** States in the order in which they were found, at each depth: so no edges cross. The grey shape
 *  is as wide as there are states (its logarithm), the numbers below say how many. */
class SearchTree {
  constructor(words, visit) {
    this.words = words;
    this.visit = visit;
    this.drawn = new Map(); // number → { number, parent, depth, label, x, y, el }
    this.here = 0; // the state that the Tab key reaches
    this.svg = draw("svg", "states");
    this.extent = draw("path", "extent");
    this.edges = draw("path", "edges");
    this.way = draw("path", "way");
    this.items = draw("g", "items");
    this.items.setAttribute("role", "tree");
    this.sign = draw("path", "sign");
    this.counts = draw("g", "counts");
    for (const el of [this.extent, this.edges, this.way, this.sign, this.counts]) {
      el.setAttribute("aria-hidden", "true");
    }
    this.svg.append(this.extent, this.edges, this.way, this.items, this.sign, this.counts);
    this.hint = make("div", { className: "hint" });
    this.el = make("div", { className: "tree" }, this.svg, this.hint);
    this.svg.addEventListener("pointermove", (event) => this.say(this.nearest(event)));
    this.svg.addEventListener("pointerleave", () => this.say());
    this.svg.addEventListener("click", (event) => {
      const state = this.nearest(event);
      if (state) this.visit(state.number);
    });
    this.items.addEventListener("keydown", (event) => this.key(event));
    this.items.addEventListener("focusin", (event) => this.say(event.target.state));
    this.items.addEventListener("focusout", () => this.say());
    new ResizeObserver(() => {
      if (this.tree) this.update(this.tree, this.total);
    }).observe(this.el);
  }

  update(tree, total) {
    this.tree = tree;
    this.total = total;
    this.el.hidden = !tree.states.length;
    if (this.el.hidden || !this.svg.clientWidth) return;
    this.measure(tree.sizes);
    this.place(tree);
    this.line();
    this.number(tree.sizes);
    const values = { shown: tree.states.length.toLocaleString("en"),
      n: total.toLocaleString("en"), levels: tree.sizes.join(", ") };
    this.items.setAttribute("aria-label", fill(this.words.tree, values));
    this.about = fill(this.words.hint, values);
    this.say(document.activeElement?.state);
  }

  measure(sizes) {
    this.width = this.svg.clientWidth;
    this.height = this.svg.clientHeight;
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.step = (this.width - 2 * EDGE) / Math.max(sizes.length - 1, SPAN);
    const room = this.height - LOW - 14, most = Math.log(1 + Math.max(...sizes));
    this.spans = sizes.map((size) => room * Math.log(1 + size) / most);
    const middle = (this.height - LOW) / 2, x = (depth) => EDGE + depth * this.step;
    const rim = (sign) => this.spans.map((span, depth) =>
      `${x(depth).toFixed(1)} ${(middle + sign * (span / 2 + 5)).toFixed(1)}`);
    this.extent.setAttribute("d", `M${[...rim(-1), ...rim(1).reverse()].join("L")}Z`);
    this.at = (depth, rank) => ({ x: x(depth),
      y: middle + ((rank + 0.5) / sizes[depth] - 0.5) * this.spans[depth] });
  }

  /** States that stay keep their element, and with it the focus. */
  place({ states, found, at, sizes }) {
    const now = new Map();
    const { refutes, reaches } = this.words;
    const about = Map.groupBy(found, ([, number]) => number); // two claims may mean one state
    for (const [number, parent, depth, rank, choice] of states) {
      const state = this.drawn.get(number) ?? { number, el: this.item(number) };
      const told = about.get(number), refuted = told?.some(([, , bad]) => bad);
      const label = [depth ? fill(this.words.state, { n: depth, choice }) : this.words.initial];
      for (const [name, , bad] of told ?? []) label.push(fill(bad ? refutes : reaches, { name }));
      Object.assign(state, this.at(depth, rank), { parent, depth, label: label.join(" ") });
      now.set(number, state);
      const { el } = state, big = told || number === at;
      el.state = state;
      el.setAttribute("class", told ? (refuted ? "bad" : "good") : number === at ? "here"
        : depth >= sizes.length - 1 ? "newest" : "");
      for (const [name, value] of Object.entries({ cx: state.x.toFixed(1), cy: state.y.toFixed(1),
        r: big ? 6.5 : 2.6, "aria-label": state.label, "aria-level": depth + 1,
        "aria-selected": number === at })) el.setAttribute(name, value);
    }
    const lost = this.drawn.get(document.activeElement?.state?.number);
    const old = this.drawn;
    this.drawn = now;
    if (!now.has(this.here)) this.here = at ?? 0;
    if (lost && !now.has(lost.number)) this.focus(this.kept(lost, old));
    for (const [number, { el }] of old) if (!now.has(number)) el.remove();
    this.reach(lost && now.has(lost.number) ? lost.number : this.moved ? this.here : at ?? 0);
  }

  item(number) {
    const el = draw("circle", "");
    el.setAttribute("role", "treeitem");
    el.setAttribute("tabindex", -1);
    this.items.append(el);
    return el;
  }

  /** The nearest state on the way back that is still drawn. */
  kept(state, old) {
    while (!this.drawn.has(state.number)) state = old.get(state.parent);
    return state.number;
  }

  /** One state is what the Tab key reaches. */
  reach(number) {
    this.drawn.get(this.here)?.el.setAttribute("tabindex", -1);
    this.here = number;
    this.drawn.get(number)?.el.setAttribute("tabindex", 0);
  }

  focus(number) {
    this.moved = true;
    this.reach(number);
    this.drawn.get(number).el.focus({ preventScroll: true });
  }

  line() {
    const edge = ({ x, y, parent }) => {
      const from = this.drawn.get(parent), half = this.step / 2;
      return `M${from.x.toFixed(1)} ${from.y.toFixed(1)}`
        + `C${(from.x + half).toFixed(1)} ${from.y.toFixed(1)} `
        + `${(x - half).toFixed(1)} ${y.toFixed(1)} ${x.toFixed(1)} ${y.toFixed(1)}`;
    };
    const all = [...this.drawn.values()].filter(({ number }) => number);
    this.edges.setAttribute("d", all.map(edge).join(""));
    const way = [];
    const target = this.drawn.get(this.tree.at);
    for (let state = target; state?.number; state = this.drawn.get(state.parent)) way.push(state);
    this.way.setAttribute("d", way.map(edge).join(""));
    this.onward = (children) => children.find((child) => way.includes(child)) ?? children[0];
    const bad = this.tree.found.filter(([, , refuted]) => refuted).map(([, number]) => number);
    this.way.classList.toggle("bad", bad.includes(this.tree.at));
    this.sign.setAttribute("d", [...new Set(bad)].map((number) => this.drawn.get(number))
      .map(({ x, y }) => `M${x - 2.4} ${y - 2.4}l4.8 4.8m0-4.8l-4.8 4.8`).join(""));
  }

  /** How many states there are at each depth, as far as there is room to say it. */
  number(sizes) {
    const every = Math.ceil(30 / this.step);
    const texts = sizes.map((size, depth) => ({ size, depth }))
      .filter(({ depth }) => depth % every === 0);
    this.counts.replaceChildren(...texts.map(({ size, depth }) => {
      const el = draw("text", "");
      el.textContent = short(size);
      el.setAttribute("x", EDGE + depth * this.step);
      el.setAttribute("y", this.height - 4);
      return el;
    }));
  }

  nearest(event) {
    const box = this.svg.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    let best = null, least = NEAR;
    for (const state of this.drawn.values()) {
      const far = Math.hypot(state.x - x, state.y - y) - (state.el.getAttribute("r") > 3 ? 4 : 0);
      if (far < least) [best, least] = [state, far];
    }
    return best;
  }

  /** What a state is, while it is pointed at or has the focus; else what the picture is. */
  say(state) {
    const text = state?.label ?? this.about ?? "";
    if (this.hint.textContent !== text) this.hint.textContent = text;
    this.svg.classList.toggle("pointed", Boolean(state));
    this.pointed?.el.classList.remove("pointed");
    this.pointed = state;
    state?.el.classList.add("pointed");
  }

  /** As in every tree: right to a child, left to the parent, up and down at one depth. */
  key(event) {
    const state = event.target.state;
    if (!state || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const all = [...this.drawn.values()];
    const level = all.filter(({ depth }) => depth === state.depth).sort((a, b) => a.y - b.y);
    const beside = (by) => level[level.indexOf(state) + by];
    const to = {
      ArrowRight: () => this.onward(all.filter((s) => s.number && s.parent === state.number)),
      ArrowLeft: () => this.drawn.get(state.parent), ArrowUp: () => beside(-1),
      ArrowDown: () => beside(1), Home: () => this.drawn.get(0),
      End: () => this.drawn.get(this.tree.at) ?? all[all.length - 1],
    }[event.key];
    if (to) {
      event.preventDefault();
      const next = to();
      if (next) this.focus(next.number);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.visit(state.number);
    }
  }
}
