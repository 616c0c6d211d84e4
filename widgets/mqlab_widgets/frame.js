// The frame of a player: how tall it may be, and which panels it shows there (arrange.js). Letters
// never shrink: what does not fit becomes a tab.

const LEAST = 190; // px that the pictures have however low the window is
const SHARE_LEAST = 130; // px of them where compared traces are in two rows
const BOX_LEAST = 200; // px of them below which not the whole box is in sight, but the player alone
const MENUS_LEAST = 300; // px of them below which the menus are not in sight, but the player alone
const NARROW = 560; // px: below that the top line has no room for the system
const WHOLE = { width: 840, height: 650 }; // px at scale 1 that a picture asks of the whole window
const MARGIN = 6; // px of the pane that stay free
const AIR = 24; // px above what comes into the pane
const DESCRIBE_MS = 250; // after the last step
const PARCEL = { ms: 250, high: 18, line: 15, ends: 14 }; // what travels along an arrow, in px
const BRING_IN_MS = [0, 60, 200, 500]; // after a display is drawn
const LEADS = ".mqlab-vary, .mqlab-verdict"; // menus that say what is played; what a verdict shows
const CLOSER = 4; // px of each space between panels that a tab may take for what it would cut
const NOTHING = { height: 0 }; // stands for what is yet to be measured
const PAGE_EDGE = 10; // px more of a page, which has an edge of its own
const HEAD_MOST = 200; // px above a picture up to which both are seen at once

/** What scrolls around an element, if anything smaller than the window does. */
function scroller(host) {
  let el = (host.closest(".jp-Cell") ?? host).parentElement;
  for (; el && el !== document.body; el = el.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(el).overflowY)) return el;
  }
  return null;
}

/** A reader who has just run a cell with Shift+Enter is at the next one, and what the cell shows
 *  may be out of sight: it comes back into the pane, with its menus, and the notebook stays there.
 *  For a moment JupyterLab moves too, and the display may not be in the page yet; a reader who
 *  scrolls or presses a key goes before. */
function bringIn(host) {
  const left = new AbortController(), { signal } = left;
  const leave = () => left.abort();
  for (const name of ["wheel", "pointerdown", "keydown"]) {
    addEventListener(name, leave, { signal, capture: true, passive: true });
  }
  for (const wait of BRING_IN_MS) setTimeout(() => signal.aborted || moveIn(host), wait);
  setTimeout(leave, BRING_IN_MS.at(-1) + 1);
}

function moveIn(host) {
  const pane = scroller(host), next = host.closest(".jp-Cell")?.nextElementSibling;
  if (!pane || !next?.classList.contains("jp-mod-active")) return;
  const output = host.closest(".jp-OutputArea-child");
  const menus = output?.previousElementSibling?.querySelector(LEADS);
  const { top } = (menus ?? host).getBoundingClientRect();
  const { bottom } = host.getBoundingClientRect();
  const seen = pane.getBoundingClientRect();
  if (top >= seen.top && bottom <= seen.bottom) return;
  const free = Math.max(0, seen.height - (bottom - top)) / 2;
  pane.scrollTop += top - seen.top - Math.min(free, AIR);
}

/** The pictures of a player in the room that its pane has: columns, tabs, fitted rows. */
class Stage {
  constructor(host, id, words) {
    Object.assign(this, { host, id, words, panels: [], tabs: [], chosen: {}, was: null });
    this.el = make("div", { className: "stage" });
    this.before = () => {}; // before the space is measured: what is around takes what it needs
    this.changed = () => {};
    this.watch = new ResizeObserver(() => this.fit());
    this.watch.observe(host);
    this.outer = host.parentElement?.closest(".mqlab");
    if (this.outer) this.watch.observe(this.outer);
    this.around = undefined;
  }

  /** Other panels: what they are is the player's business. Of a new payload, `next`, they are put
   *  into the room that there was, without a look at the page, since each look lays all of it out:
   *  the player fits them once it has drawn. */
  show(panels, scale, next = false) {
    this.all = this.panels = panels;
    const { was } = this, stays = next && was && was.whole === this.whole && scale === this.scale;
    this.scale = scale;
    if (stays) return this.place(was.width, was.height);
    this.was = null;
    this.fit();
  }

  get whole() { return this.host.classList.contains("whole"); }

  /** If it has the window to itself, without an edge: the whole one, or a page of a lecture. */
  get fills() { return this.whole || this.host.classList.contains("lecture"); }

  /** The height of the pane that the player is in. */
  pane() {
    const around = scroller(this.host);
    if (around !== this.around) {
      if (this.around) this.watch.unobserve(this.around);
      if (around) this.watch.observe(around);
      else addEventListener("resize", () => this.fit());
      this.around = around;
    }
    if (this.fills) return innerHeight;
    if (around) return around.clientHeight;
    const above = this.host.getBoundingClientRect().top + scrollY;
    const isBelowHead = this.host.dataset.heading === "h1" && above < HEAD_MOST;
    return innerHeight - Math.max(isBelowHead ? above : 0, PAGE_EDGE);
  }

  /** Arrange the panels again if the room is another than before. */
  fit() {
    const width = this.el.clientWidth;
    if (!width) return;
    this.before();
    if (!this.panels.length) return;
    const height = this.room();
    const { was, whole } = this;
    if (was && width === was.width && height === was.height && whole === was.whole) return;
    this.was = { width, height, whole };
    this.host.classList.toggle("narrow", width < NARROW);
    this.place(width, height);
    this.changed();
  }

  /** The height that the pane has for the pictures: beside all that is in the box that the
   *  player is a part of, or beside its menus; where that is too much, beside the player's question
   *  and actions; and where even that is too much, beside its controls alone: the rest is a little
   *  way to scroll. */
  room() {
    const pane = this.pane() - (this.fills ? 0 : MARGIN), rows = this.rows();
    if (rows > 1) {
      return Math.max(SHARE_LEAST,
        Math.floor((pane - this.menus()) / rows) - BETWEEN - this.others(this.host));
    }
    const inBox = this.outer && !this.whole ? pane - this.others(this.outer) : 0;
    const alone = pane - this.others(this.host), below = alone - (this.whole ? 0 : this.menus());
    const inHost = below < MENUS_LEAST ? alone : below;
    const low = inBox < BOX_LEAST && inHost < LEAST;
    this.host.classList.toggle("low", low);
    if (inBox >= BOX_LEAST) return inBox;
    if (!low) return inHost;
    const { top } = this.host.querySelector(".top").getBoundingClientRect();
    const { bottom } = this.el.parentElement.getBoundingClientRect();
    return Math.max(LEAST, Math.floor(pane - (bottom - top) + this.el.offsetHeight));
  }

  /** In how many rows the compared traces are; where each has the whole width, one. */
  rows() {
    const box = this.host.closest(".mqlab-many");
    const columns = box && getComputedStyle(box).gridTemplateColumns.split(" ").length;
    return columns > 1 ? Math.ceil(box.querySelectorAll(":scope > .mqlab").length / columns) : 1;
  }

  /** The height of what belongs to the picture: the output before it (LEADS), which may come to
   *  life after it. */
  menus() {
    const output = this.host.closest(".jp-OutputArea-child");
    const before = output?.previousElementSibling;
    if (!before) return 0;
    if (before !== this.watched) this.watch.observe(this.watched = before);
    if (!before.querySelector(LEADS)) return 0;
    return Math.ceil(output.getBoundingClientRect().top - before.getBoundingClientRect().top);
  }

  /** What a box has besides the pictures, in px; it may be taller than all of that. */
  others(box) {
    const { top } = box.getBoundingClientRect();
    const ends = [...box.children]
      .map((el) => el.getBoundingClientRect()).filter(({ height }) => height)
      .map(({ bottom }) => bottom);
    const { paddingBottom } = getComputedStyle(box);
    const end = Math.max(top, ...ends) + parseFloat(paddingBottom);
    return Math.ceil(end - top - this.el.getBoundingClientRect().height + box.scrollTop);
  }

  place(width, height) {
    const { left, columns } = arrangeBest(
      this.all, width, height, this.words, Boolean(this.host.closest(".mqlab-pair")));
    this.panels = [...left, ...columns.flatMap(within)];
    for (const panel of this.panels) panel.visible = true;
    const el = (panel) => panel.el;
    const places = [...left.map(el), ...columns.flatMap(({ panels, groups }) => ["column",
      ...panels.map(el), ...groups.flatMap((one) => [one.title, ...one.panels.map(el)])])];
    const groups = columns.map((column) => column.groups).filter(({ length }) => length);
    if (places.length === this.places?.length && places.every((p, i) => p === this.places[i])) {
      this.tabs.forEach((tabs, i) => { tabs.groups = groups[i]; tabs.show(tabs.chosen); });
    } else {
      this.places = places;
      this.build(left, columns);
    }
    const { boxes } = this;
    const need = columns.map(({ panels, groups }) => tall(panels) + (groups.length
      ? (panels.length ? BETWEEN : 0) + TABS + Math.max(...groups.map((g) => tall(g.panels))) : 0));
    columns.forEach(({ panels, groups }, i) => {
      boxes[i].style.setProperty("--wide", `${wide(within({ panels, groups }))}px`);
      const short = need[i] - height;
      boxes[i].classList.toggle("close", short > 0 && short <= CLOSER * panels.length);
    });
    const used = Math.min(height, Math.max(0, ...need, ...left.map((panel) => panel.height)));
    this.used = used;
    this.el.style.height = `${used}px`;
    const tabs = columns.flatMap(({ groups }) => groups.map(({ panels }) => panels));
    for (const panel of this.panels.filter(({ rows }) => rows)) {
      const beside = tabs.find((panels) => panels.includes(panel));
      const taken = beside ? TABS + tall([...beside.filter((one) => one !== panel), NOTHING]) : 0;
      panel.rows.fit((used - taken) / this.scale);
    }
  }

  /** The boxes of an arrangement, with the panels in them. */
  build(left, columns) {
    this.tabs = [];
    this.boxes = columns.map((column, i) => this.column(column, i, left.length > 0));
    const diagram = left.length
      ? [make("div", { className: "left" }, ...left.map((panel) => panel.el))] : [];
    this.el.replaceChildren(...diagram, ...this.boxes);
    this.el.classList.toggle("spread", columns.length > 1);
  }

  column({ panels, groups }, index, beside) {
    const box = make("div", { className: beside ? "right" : "right only" },
      ...panels.map((panel) => panel.el));
    if (groups.length) {
      const choose = (name) => { this.chosen[index] = name; this.changed(); };
      const tabs = new Tabs(
        `${this.id}-${index}`, this.words.panels, groups, this.chosen[index], choose);
      this.tabs.push(tabs);
      box.append(tabs.el);
    }
    return box;
  }

  /** How many px of a panel there is no room for. */
  get cut() {
    const { bottom } = this.el.getBoundingClientRect();
    return Math.max(0, ...this.panels.filter(({ rows, visible }) => visible && !rows)
      .map(({ el }) => el.getBoundingClientRect().bottom - bottom));
  }

  /** Draw a step in what is in sight; mark what is new elsewhere. */
  seek(step, before) {
    for (const panel of this.panels) {
      if (!panel.visible) continue;
      (panel.rows ?? panel.panel).seek(step);
    }
    for (const tabs of this.tabs) tabs.mark(before, step, this.words);
  }

  /** Bring the panel of this name into sight, if it is in another tab. */
  open(base) {
    for (const tabs of this.tabs) {
      const at = tabs.groups.findIndex(({ panels }) => panels.some((p) => p.base === base));
      if (at >= 0 && at !== tabs.chosen) tabs.pick(at);
    }
  }

  /** Say what the panels show, once the reader stays at a step. The diagram is left out: its rows
   *  are the narration. */
  describe() {
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      for (const { rows, visible, panel } of this.panels) if (visible && !rows) panel.describe();
    }, DESCRIBE_MS);
  }

  /** What the message of this step carries travels along its arrow. */
  carry() {
    const row = this.el.querySelector(".row.now"), shaft = row?.querySelector(".msg .shaft");
    const text = row?.querySelector(".lab")?.textContent.replace(/^\S+ (?=\S)/, "") ?? "";
    if (!shaft || !text || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const at = (name) => Number(shaft.getAttribute(name)), wide = PARCEL.ends + 7 * text.length;
    const parcel = document.createElementNS(SVG, "g"), box = document.createElementNS(SVG, "rect");
    const label = document.createElementNS(SVG, "text");
    parcel.setAttribute("class", `parcel ${row.querySelector(".msg").getAttribute("class")}`);
    label.setAttribute("class", "cell-text");
    for (const [name, value] of Object.entries({ x: -wide / 2, y: 2, width: wide, rx: 4,
      height: PARCEL.high, class: "record" })) box.setAttribute(name, value);
    label.setAttribute("y", PARCEL.line);
    label.textContent = text;
    parcel.append(box, label);
    row.append(parcel);
    const place = (x) => ({ transform: `translateX(${x}px)` });
    const how = { duration: PARCEL.ms, easing: "ease-in-out" };
    parcel.animate([place(at("x1")), place(at("x2"))], how)
      .finished.finally(() => parcel.remove()).catch(() => {});
  }

  /** Bring what happens at this step into sight where the diagram is wider than its box; keys can
   *  scroll it then, too. */
  reveal() {
    const box = this.panels.find((panel) => panel.rows && panel.visible)?.el.parentElement;
    if (!box || box.scrollWidth <= box.clientWidth) return;
    box.tabIndex = 0;
    const marks = [...box.querySelectorAll(".row.now :not(.hit, .num, .tag, title)")]
      .map((el) => el.getBoundingClientRect());
    if (!marks.length) return;
    const here = box.getBoundingClientRect();
    const low = Math.min(...marks.map((mark) => mark.left)) - here.left - 12;
    const high = Math.max(...marks.map((mark) => mark.right)) - here.right + 12;
    if (low < 0) box.scrollLeft += low;
    else if (high > 0) box.scrollLeft += Math.min(high, low);
  }
}
