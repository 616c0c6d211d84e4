// The futures that were tried, as a tree above the slider. Follows acts.js in one module. Text from
// Python only ever becomes textContent.

const DOT = 3.5, LEAF = 12; // px: radius of a node, height of a row
const MOST_COLUMN = 26; // px between two choices where there are few

/** A tree as ARIA has it: one stop of the Tab key, arrows along it, Enter opens a node. */
class Branches {
  constructor(words, send) {
    this.send = send;
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("role", "tree");
    this.svg.setAttribute("aria-label", words.branches);
    this.words = words;
    this.box = make("div", { className: "scroll" }, this.svg);
    this.beside = button(words.beside, () => send({ type: "compare" }));
    this.el = make("div", { className: "branches", hidden: true }, this.box, this.beside);
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.watch = new ResizeObserver(() => this.tree && this.draw());
    this.watch.observe(this.box);
  }

  load({ branches: tree, comparable, compared }) {
    this.beside.textContent = compared ? this.words.single : this.words.beside;
    this.beside.setAttribute("aria-pressed", Boolean(compared));
    this.beside.setAttribute("aria-disabled", !comparable);
    const had = this.svg.contains(document.activeElement);
    this.tree = tree;
    this.at = tree.now;
    this.el.hidden = tree.rows < 2;
    if (!this.el.hidden) this.draw();
    if (had) this.dots[this.at]?.focus({ preventScroll: true });
  }

  draw() {
    const { nodes, now, rows, columns } = this.tree;
    const wide = Math.min((this.box.clientWidth - 24) / Math.max(columns, 1), MOST_COLUMN);
    const place = ({ column, row }) => [12 + column * wide, LEAF * (row + 0.5) + 1];
    this.svg.setAttribute("width", 24 + wide * columns);
    this.svg.setAttribute("height", LEAF * rows + 2);
    const edges = nodes.filter(({ parent }) => parent >= 0).map((node) => {
      const [x, y] = place(node), [from, top] = place(nodes[node.parent]);
      const bend = Math.min(from + 6, x);
      return shape("path", { class: "branch", d: `M${from} ${top}L${bend} ${y}H${x}` });
    });
    const had = this.dots?.indexOf(document.activeElement) ?? -1;
    this.dots = nodes.map((node, i) => this.dot(node, i, i === now, place(node)));
    this.svg.replaceChildren(...edges, ...this.dots);
    this.stop();
    this.reveal();
    if (had >= 0) this.dots[this.at].focus({ preventScroll: true });
  }

  /** The open node in sight, without moving anything else. */
  reveal() {
    const { row } = this.tree.nodes[this.at];
    const top = LEAF * row, { scrollTop, clientHeight } = this.box;
    if (top < scrollTop) this.box.scrollTop = top;
    else if (top + LEAF + 2 > scrollTop + clientHeight) {
      this.box.scrollTop = top + LEAF + 2 - clientHeight;
    }
  }

  dot({ title, red, column }, number, now, [x, y]) {
    const el = shape("g", { class: `node${red ? " red" : ""}${now ? " open" : ""}`,
      role: "treeitem", "aria-level": column + 1, "aria-label": title, "aria-selected": now });
    const tip = shape("title", {});
    tip.textContent = title;
    el.append(tip, shape("circle", { class: "reach", cx: x, cy: y, r: LEAF / 2 }),
      shape("circle", { class: "dot", cx: x, cy: y, r: now ? DOT + 1.5 : DOT }));
    if (red) el.append(shape("path", { class: "sign", d: `M${x - 2} ${y - 2}l4 4m0 -4l-4 4` }));
    el.addEventListener("click", () => this.open(number));
    return el;
  }

  open(number) {
    this.at = number;
    this.send({ type: "visit", number });
  }

  stop() {
    this.dots.forEach((dot, i) => dot.setAttribute("tabindex", i === this.at ? 0 : -1));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const { nodes } = this.tree, here = nodes[this.at];
    if (event.key === "Enter" || event.key === " ") this.open(this.at);
    else {
      const kids = nodes.flatMap(({ parent }, i) => (parent === this.at ? [i] : []));
      const beside = (way) => nodes.flatMap(({ row }, i) => (row === here.row + way ? [i] : []))
        .sort((a, b) => Math.abs(nodes[a].column - here.column)
          - Math.abs(nodes[b].column - here.column))[0];
      const to = { ArrowRight: () => kids[0], ArrowLeft: () => here.parent,
        ArrowUp: () => beside(-1), ArrowDown: () => beside(1) }[event.key];
      if (!to) return;
      this.at = nodes[to()] ? to() : this.at;
      this.stop();
      this.reveal();
      this.dots[this.at].focus({ preventScroll: true });
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

function shape(tag, attributes) {
  const el = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) el.setAttribute(name, value);
  return el;
}
