// Acting in the picture: areas over the diagram, each with a small menu of what can be done there.
// Follows player.js and widget.js in one module, whose names it uses. Where an area is follows from
// the elements that Python drew; what it offers, and in which words, is said by Python
// (playground.py).

const GAP_SIZE = [30, 14]; // px of the place between two rows at which a node may die
const SIGN = 16; // px of the sign of something that a node may do by itself
const LANE = 30; // px: the names of a lane

/** A menu as ARIA has it: it takes the focus, and gives it back to what opened it. */
class Menu {
  constructor(host, pick) {
    this.host = host;
    this.pick = pick;
    this.title = make("div", { className: "what" });
    this.list = make("div", { className: "items" });
    this.list.setAttribute("role", "menu");
    this.el = make("div", { className: "menu", hidden: true }, this.title, this.list);
    this.el.addEventListener("keydown", (event) => this.key(event));
    this.el.addEventListener("focusout", ({ relatedTarget }) => {
      if (!this.el.contains(relatedTarget) && relatedTarget !== this.opener) this.hide();
    });
    host.append(this.el);
  }

  get open() { return !this.el.hidden; }

  show(opener, { title, items }) {
    this.hide();
    this.opener = opener;
    this.title.textContent = title;
    this.list.setAttribute("aria-label", title);
    this.list.replaceChildren(...items.map((item) => {
      const row = button(item.label, () => { this.close(); this.pick(item); },
        { tabIndex: -1, className: item.kind });
      row.setAttribute("role", "menuitem");
      return row;
    }));
    opener.setAttribute("aria-expanded", true);
    this.el.hidden = false;
    this.place(opener);
    this.list.firstChild.focus({ preventScroll: true });
  }

  /** Below what opened it, or above where there is no room, and never beyond the widget. */
  place(opener) {
    const from = opener.getBoundingClientRect(), host = this.host.getBoundingClientRect();
    const { offsetWidth: wide, offsetHeight: tall } = this.el;
    const left = Math.min(from.left - host.left, host.width - wide - 8);
    const below = from.bottom - host.top + 2;
    const top = below + tall > host.height ? from.top - host.top - tall - 2 : below;
    this.el.style.left = `${Math.max(left, 4)}px`;
    this.el.style.top = `${Math.max(Math.min(top, host.height - tall), 0)}px`;
  }

  hide() {
    this.el.hidden = true;
    this.opener?.setAttribute("aria-expanded", false);
  }

  close() {
    this.hide();
    this.opener?.focus({ preventScroll: true });
  }

  key(event) {
    const rows = [...this.list.children], at = rows.indexOf(document.activeElement);
    const to = { ArrowDown: (at + 1) % rows.length, Home: 0, End: rows.length - 1,
      ArrowUp: (at + rows.length - 1) % rows.length }[event.key];
    if (event.key === "Enter" && event.shiftKey) return;
    event.stopPropagation();
    if (to !== undefined) rows[to].focus();
    else if (event.key === "Escape") this.close();
    else if (event.key === "Tab") return this.close();
    else return;
    event.preventDefault();
  }
}

/** The areas of the present picture: one stop of the Tab key, arrows up and down between them. */
class Areas {
  constructor(player, words, send) {
    this.player = player;
    this.all = [];
    this.buttons = new Map();
    this.menu = new Menu(player.host, (item) => send("hold" in item
      ? { type: "hold", choice: item.hold }
      : { type: "do", choice: item.choice, ...("keep" in item ? { keep: item.keep } : {}) }));
    this.world = make("div", { className: "areas-world" });
    this.el = make("div", { className: "areas" }, this.world);
    this.el.setAttribute("role", "toolbar");
    this.el.setAttribute("aria-orientation", "vertical");
    this.el.setAttribute("aria-label", words.areas);
    this.el.addEventListener("keydown", (event) => this.key(event));
    // A new picture takes the area that had the focus away: the focus waits at the widget and goes
    // to the next area, unless the learner has gone elsewhere.
    const elsewhere = ({ type, target }) => {
      const waits = type === "focusin" && target === player.host && this.mine;
      this.mine = waits || this.el.contains(target) || this.menu.el.contains(target);
    };
    for (const name of ["focusin", "pointerdown"]) document.addEventListener(name, elsewhere);
  }

  load({ areas, skipped }) {
    this.all = areas;
    const shows = areas.some(({ kind }) => kind === "gap");
    if (shows && !this.hinted) this.hint();
    this.skipped = skipped;
    this.place();
  }

  /** Once by itself: here a node may die. */
  hint() {
    this.hinted = true;
    this.el.classList.add("hint");
    this.el.addEventListener("animationend", () => this.el.classList.remove("hint"));
  }

  /** Put a button over each area that is in sight at this step. */
  place() {
    const panel = this.player.shown.find((p) => p.rows && p.visible);
    this.el.hidden = !panel;
    if (!panel?.rows.world.el) return; // not drawn yet
    const box = panel.el.parentElement;
    if (this.el.parentElement !== box) box.append(this.el);
    const at = new Places(panel);
    this.el.style.width = `${at.width}px`;
    this.el.style.height = `${at.height}px`;
    const shown = this.all.map((area) => [area, this.find(area, at)])
      .filter(([, place]) => place).sort(([, a], [, b]) => a[1] - b[1] || a[0] - b[0]);
    const old = this.buttons;
    this.buttons = new Map(shown.map(([area, place]) => [area.key, this.button(area, place, old)]));
    const kids = [...this.buttons.values()];
    if (kids.length !== this.world.children.length
        || kids.some((el, i) => el !== this.world.children[i])) this.world.replaceChildren(...kids);
    if (!this.buttons.has(this.chosen)) {
      const first = shown.find(([{ kind }]) => kind === "message" || kind === "own") ?? shown[0];
      this.chosen = first?.[0].key;
    }
    const lost = [null, document.body, this.player.host].includes(document.activeElement);
    this.choose(this.chosen, this.mine && lost && !this.menu.open);
  }

  /** x, y, width and height of an area; nothing where it is not in sight. What may happen next is
   *  done at the end of the trace; where a process might have died is in its past. */
  find(area, at) {
    const { step, end } = this.player;
    if (area.kind === "gap") {
      const x = at.lane(area.lane), y = at.row(area.at - this.skipped, 1);
      const [w, h] = GAP_SIZE;
      const fits = x !== null && y !== null && area.at - this.skipped < step;
      return fits ? [x - w / 2, y - h / 2, w, h] : null;
    }
    if (step < end) return null;
    if (area.kind === "message") {
      const y = at.row(area.at - this.skipped, 0), ends = area.ends.map((lane) => at.lane(lane));
      if (y === null || ends.includes(null)) return null;
      const x = Math.min(...ends) + 9;
      return [x, y + 2, Math.max(...ends) - 9 - x, at.high - 4];
    }
    const x = at.lane(area.lane);
    if (x === null) return null;
    if (area.kind === "lane") return [x - at.spacing / 2 + 2, 0, at.spacing - 4, LANE];
    const mine = this.all.filter(({ kind, lane }) => kind === "own" && lane === area.lane);
    const shift = (mine.indexOf(area) - (mine.length - 1) / 2) * (SIGN + 3);
    return [x + shift - SIGN / 2, at.head - SIGN - 1, SIGN, SIGN];
  }

  button(area, [x, y, w, h], old) {
    const el = old.get(area.key) ?? button("", () => this.open(area.key), { tabIndex: -1 });
    el.className = `area ${area.kind}${area.held ? " held" : ""}`;
    el.textContent = area.glyph ?? "";
    el.title = area.title;
    el.setAttribute("aria-label", area.title);
    el.setAttribute("aria-haspopup", "menu");
    Object.assign(el.style,
      { left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px` });
    el.area = area;
    return el;
  }

  choose(key, focus) {
    this.chosen = key;
    for (const [name, el] of this.buttons) el.tabIndex = name === key ? 0 : -1;
    if (focus) (this.buttons.get(key) ?? this.player.host).focus({ preventScroll: true });
  }

  open(key) {
    this.choose(key, false);
    const el = this.buttons.get(key);
    this.menu.show(el, el.area);
  }

  key(event) {
    const keys = [...this.buttons.keys()], at = keys.indexOf(this.chosen);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (keys[to] !== undefined) this.choose(keys[to], true);
  }
}

/** Where lanes and rows of a diagram are, in px of the page. */
class Places {
  constructor({ panel, rows }) {
    this.panel = panel;
    this.rows = rows;
    this.scale = panel.scale;
    this.width = panel.width * this.scale;
    this.head = rows.head * this.scale;
    this.high = rows.row * this.scale;
    this.height = this.head + (rows.edge + rows.seen * rows.row) * this.scale;
    this.down = shift(rows.world.el) + rows.head - rows.edge;
    this.elements = panel.drawn;
    const xs = [...this.elements].filter(([key]) => key.startsWith("life:"))
      .map(([, element]) => Number(element.now.x1)).sort((a, b) => a - b);
    this.spacing = (xs.length > 1 ? xs[1] - xs[0] : 2 * xs[0]) * this.scale;
  }

  lane(name) {
    const element = this.elements.get(`life:${name}`);
    return element ? Number(element.now.x1) * this.scale : null;
  }

  /** The top of a fact's row, `below` rows further down; null where it is not in sight. */
  row(fact, below) {
    const element = this.elements.get(`row:${fact}`);
    if (!element) return null;
    const y = (this.down + shift(element.el) + below * this.rows.row) * this.scale;
    const { head, edge } = this.rows;
    return y >= (head - edge) * this.scale - 1 && y + (1 - below) * this.high <= this.height + 1
      ? y : null;
  }
}

/** How far a group is moved down. */
const shift = (el) => Number(/,(-?[\d.]+)\)/.exec(el.getAttribute("transform"))?.[1] ?? 0);
