// The player: draws the lives that Python encoded (see lives.py), and nothing it was not told.
// One module, by hand: the same file is inlined into a notebook output, into a page, and is
// the front end of the widgets. Text from Python only ever becomes textContent.

const SVG = "http://www.w3.org/2000/svg";
let players = 0;

/** A panel: who is alive at a step, patched into one <svg>. */
class Panel {
  constructor(lives, shapes, box, scale) {
    this.svg = document.createElementNS(SVG, "svg");
    const [width, height] = box.size;
    for (const [name, value] of Object.entries({
      class: "picture", role: "img", "aria-label": box.title, viewBox: `0 0 ${width} ${height}`,
      width: width * scale, height: height * scale,
    })) this.svg.setAttribute(name, value);
    let born = 0, at = 0;
    this.lives = lives.key.map((key, i) => {
      const [tag, ...names] = shapes[lives.shape[i]];
      born += lives.born[i];
      const first = {};
      for (const name of names) first[name] = lives.val[at++];
      return { key, tag, first, born, end: born + lives.len[i], up: lives.up[i],
               lines: Object.entries(lives.tl[i] || {}).map(timeline),
               now: null, el: null, last: null };
    });
  }

  seek(step) {
    const lives = this.lives;
    const root = { el: this.svg, last: null };
    for (let i = 0; i < lives.length; i++) {
      const life = lives[i];
      if (step < life.born || step >= life.end) {
        if (life.el) { life.el.remove(); life.el = null; }
        continue;
      }
      const parent = life.up ? lives[i - life.up] : root;
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

const make = (tag, props = {}, ...kids) => {
  const el = Object.assign(document.createElement(tag), props);
  el.append(...kids);
  return el;
};

const ICONS = {
  first: "M4 4h2.4v12H4zM16 4v12L7.6 10z", back: "M14.5 4v12L6 10z", play: "M6 4v12l9.5-6z",
  pause: "M5 4h3.6v12H5zM11.4 4H15v12h-3.6z", next: "M5.5 4v12l6.6-6zM13 4h2.4v12H13z",
  last: "M4 4v12l8.4-6zM13.6 4H16v12h-2.4z",
};

function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  svg.append(document.createElementNS(SVG, "path"));
  svg.firstChild.setAttribute("d", ICONS[name]);
  return svg;
}

/** Header, panels, controls and narration around one payload. */
class Player {
  constructor(host, data, unfolded = false) {
    this.host = host;
    this.id = `mqlab-${++players}-${Math.random().toString(36).slice(2, 8)}`;
    this.step = -1;
    this.wish = null;
    this.limit = Infinity;
    // Whoever opens at a folded fact, or has just done it, wants to see it.
    this.unfolded = unfolded || Boolean(data.meta.facts[data.meta.step - 1]?.fold);
    this.frame();
    this.load(data, data.meta.step);
  }

  /** The parts that outlive a payload. */
  frame() {
    const button = (name, act) => {
      const el = make("button", { type: "button", onclick: act });
      el.append(icon(name));
      this.buttons[name] = el;
      return el;
    };
    this.buttons = {};
    const heading = this.host.dataset.heading || "div";
    this.title = make(heading, { className: "title", id: `${this.id}-title` });
    this.system = make("span", { className: "chip" });
    this.evidence = make("span", { className: "chip" });
    this.place = make("span");
    this.foldButton = make("button",
      { type: "button", className: "link", onclick: () => this.fold() });
    this.left = make("div", { className: "left", onclick: (event) => this.clicked(event) });
    this.right = make("div", { className: "right" });
    this.slider = make("input", { type: "range", min: 0, step: 1, id: `${this.id}-slider`,
      oninput: () => this.go(Number(this.slider.value)) });
    this.ticks = document.createElementNS(SVG, "svg");
    this.ticks.setAttribute("preserveAspectRatio", "none");
    this.ticks.setAttribute("aria-hidden", "true");
    this.line = make("div", { className: "line" });
    this.why = make("div", { className: "why" });
    const say = make("div", { className: "say" }, this.line, this.why);
    say.setAttribute("aria-live", "polite");
    const controls = make("div", { className: "controls" },
      button("first", () => this.go(0)), button("back", () => this.go(this.before())),
      button("play", () => this.play()), button("next", () => this.go(this.after())),
      button("last", () => this.go(this.end)),
      make("div", { className: "slide" }, this.ticks, this.slider));
    const bottom = make("div", { className: "bottom" }, controls, say);
    this.body = make("div", { className: "body" }, this.left, this.right, bottom);
    this.host.replaceChildren(
      make("div", { className: "top" }, this.title, this.system, this.evidence,
        make("span", { className: "count" }, this.place, this.foldButton)),
      this.body);
    new ResizeObserver(() => this.reflow()).observe(this.body);
    this.buttons.play.classList.add("main");
    this.host.tabIndex = 0;
    this.host.setAttribute("role", "group");
    this.host.setAttribute("aria-labelledby", `${this.id}-title`);
    this.host.addEventListener("keydown", (event) => this.key(event));
  }

  /** Another payload into the same frame: a playground moved, a followed broker went on. */
  load(data, step) {
    this.data = data;
    const { meta } = data;
    const { words } = meta;
    this.end = meta.facts.length;
    this.host.lang = meta.lang;
    this.host.style.setProperty("--scale", meta.scale);
    this.title.textContent = meta.title;
    this.title.hidden = !meta.title;
    if (!meta.title) this.host.setAttribute("aria-label", words.player);
    this.system.textContent = this.system.title = meta.system;
    this.system.hidden = !meta.system;
    for (const [name, el] of Object.entries(this.buttons)) {
      el.title = words[name];
      el.setAttribute("aria-label", words[name]);
    }
    this.slider.setAttribute("aria-label", words.slider);
    this.slider.max = this.end;
    this.panels = data.panels.map((lives) => {
      const box = meta.panels[lives.name];
      const [base, variant] = lives.name.split("/");
      const panel = new Panel(lives, data.shapes, box, meta.scale);
      return { base, variant, side: box.side, panel };
    });
    this.folded = meta.facts.filter((fact) => fact.fold).length;
    this.foldButton.hidden = !this.folded;
    this.arrange();
    this.drawTicks();
    this.step = -1;
    this.go(step);
  }

  /** Panels into their columns; of two variants only the one that is wanted. */
  arrange() {
    const both = new Set(this.panels.filter((p) => p.variant).map((p) => p.base));
    this.shown = this.panels.filter(
      (p) => !both.has(p.base) || Boolean(p.variant) === this.unfolded);
    for (const side of ["left", "right"]) {
      const here = this.shown.filter((p) => p.side === side);
      this[side].replaceChildren(...here.map((p) => p.panel.svg));
      this[side].hidden = !this[side].childElementCount;
    }
    this.reflow();
  }

  /** Where the right column has no room it goes below, and the controls stay at the rows. */
  reflow() {
    const wide = (side) => Math.max(0, ...this.shown.filter((p) => p.side === side)
      .map((p) => Number(p.panel.svg.getAttribute("width"))));
    const both = wide("left") + wide("right") + 29 * this.data.meta.scale;
    this.host.classList.toggle("narrow", both > this.body.clientWidth);
  }

  drawTicks() {
    const { facts } = this.data.meta;
    this.ticks.setAttribute("viewBox", `0 0 ${Math.max(this.end, 1)} 20`);
    const d = { low: "", tall: "", crash: "" };
    // Where ticks would touch each other only crashes are worth one.
    const dense = facts.length > 150;
    facts.forEach((fact, i) => {
      if (fact.mark === "crash") d.crash += `M${i + 1} 3v14`;
      else if (dense || fact.fold) return;
      else if (fact.mark === "durable") d.tall += `M${i + 1} 4v12`;
      else d.low += `M${i + 1} 7.5v5`;
    });
    this.done = document.createElementNS(SVG, "path");
    this.done.setAttribute("class", "done");
    const path = (name, shape) => {
      const el = document.createElementNS(SVG, "path");
      el.setAttribute("class", name);
      el.setAttribute("d", shape);
      return el;
    };
    this.ticks.replaceChildren(path("rail", `M0 10H${Math.max(this.end, 1)}`), this.done,
      path("low", d.low), path("tall", d.tall), path("crash", d.crash));
  }

  /** Ask for a step. Drawn at most once a frame; the newest wish wins. */
  go(step) {
    const first = this.wish === null;
    this.wish = Math.max(0, Math.min(step, this.end, this.limit));
    if (first) requestAnimationFrame(() => {
      const wish = this.wish;
      this.wish = null;
      this.draw(wish);
    });
  }

  draw(step) {
    this.step = step;
    for (const { panel } of this.shown) panel.seek(step);
    const { facts, words } = this.data.meta;
    const fact = facts[step - 1];
    const total = facts.length ? facts[facts.length - 1].index : 0;
    const number = fact ? fact.index : facts.length ? facts[0].index - 1 : 0;
    this.place.textContent = words.place.replace("{n}", number).replace("{of}", total);
    const folding = this.unfolded ? words.fold : words.folded;
    this.foldButton.textContent = folding.replace("{n}", this.folded);
    this.foldButton.setAttribute("aria-expanded", this.unfolded);
    this.slider.value = step;
    this.slider.setAttribute("aria-valuetext", fact ? `${fact.index}: ${fact.line}` : words.start);
    this.done.setAttribute("d", `M0 10H${step}`);
    this.line.textContent = fact ? fact.line : words.start;
    this.why.textContent = fact ? fact.why : this.end ? words.begin : words.empty;
    this.evidence.textContent = fact ? `${words.evidence}${fact.evidence}` : "";
    this.evidence.hidden = !fact;
    this.evidence.title = fact ? fact.evidence : "";
    this.evidence.dataset.kind = fact ? fact.kind : "";
    const stop = Math.min(this.end, this.limit);
    this.buttons.first.disabled = this.buttons.back.disabled = step === 0;
    this.buttons.last.disabled = this.buttons.next.disabled = step >= stop;
    this.buttons.play.disabled = stop === 0;
    this.host.dataset.step = step;
  }

  /** The next position that is not folded away, and the one before. */
  after() {
    let step = Math.min(this.current + 1, this.end);
    while (step < this.end && this.hides(step)) step++;
    return step;
  }

  before() {
    let step = Math.max(this.current - 1, 0);
    while (step > 0 && this.hides(step)) step--;
    return step;
  }

  get current() { return this.wish ?? this.step; }

  /** The number of the current fact, which a window that moved on may still hold. */
  get index() { return this.data.meta.facts[this.current - 1]?.index; }

  hides(step) { return !this.unfolded && this.data.meta.facts[step - 1].fold; }

  fold() {
    this.unfolded = !this.unfolded;
    this.arrange();
    this.draw(this.current);
  }

  clicked(event) {
    for (let el = event.target; el && el !== this.left; el = el.parentNode) {
      const [kind, step] = (el.mqlabKey ?? "").split(":");
      if (kind === "row") { this.stop(); return this.go(Number(step)); }
      if (kind === "fold") return this.fold();
    }
  }

  play() {
    if (this.timer) return this.stop();
    if (this.step >= Math.min(this.end, this.limit)) this.go(0);
    this.timer = setInterval(() => {
      const stop = Math.min(this.end, this.limit);
      if (!this.host.isConnected || this.current >= stop) return this.stop();
      this.go(this.after());
    }, 900);
    this.look("pause");
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.look("play");
  }

  look(name) {
    const { words } = this.data.meta;
    this.buttons.play.replaceChildren(icon(name));
    this.buttons.play.title = words[name];
    this.buttons.play.setAttribute("aria-label", words[name]);
  }

  /** Arrow keys belong to the player: JupyterLab would take them for its own. */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { target } = event;
    const typing = target !== this.slider && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
    const act = {
      ArrowRight: () => this.go(this.after()), ArrowLeft: () => this.go(this.before()),
      Home: () => this.go(0), End: () => this.go(this.end), " ": () => this.play(),
    }[event.key];
    event.stopPropagation();
    if (!act || typing || (event.key === " " && target.tagName === "BUTTON")) return;
    event.preventDefault();
    if (event.key !== " ") this.stop();
    act();
  }
}

async function unpack(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** Play the payload that stands inside `host`, in place of the still. */
export async function mount(host) {
  const text = host.querySelector("script.payload").textContent.trim();
  const data = await unpack(Uint8Array.from(atob(text), (char) => char.charCodeAt(0)));
  const player = new Player(host, data);
  host.mqlab = player;
  return player;
}

/** A widget: the same player around a payload that Python renews, with what it may ask. */
async function render({ model, el }) {
  const ui = model.get("ui");
  hideStill(ui.still);
  const host = make("div", { className: "mqlab" });
  el.append(host);
  const fresh = async () => {
    const view = model.get("payload");
    return unpack(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  };
  const has = (model.get("payload")?.byteLength ?? 0) > 0;
  const player = has ? new Player(host, await fresh(), ui.kind !== "predict") : null;
  if (!has) host.lang = ui.lang;
  const build = { play: playground, predict, follow }[ui.kind];
  const update = build(model, host, player);
  let newest = 0;
  const renew = async () => {
    const mine = ++newest;
    const data = await fresh();
    if (mine !== newest) return;
    const tail = player.current >= player.end;
    // A reader who looks back at an earlier step of a followed run is left there.
    const kept = data.meta.facts.findIndex((fact) => fact.index === player.index) + 1;
    player.load(data, ui.kind === "follow" && !tail ? kept : data.meta.step);
  };
  model.on("change:payload", renew);
  model.on("change:ui", update);
  update();
  return () => {
    player?.stop();
    model.off("change:payload", renew);
    model.off("change:ui", update);
  };
}

/** The still in the output before stands in for the widget only where there is none. */
function hideStill(id) {
  for (const still of document.querySelectorAll(`[data-still="${id}"]`)) {
    (still.closest(".jp-OutputArea-child") ?? still).style.display = "none";
  }
}

const button = (text, act, props = {}) =>
  make("button", { type: "button", textContent: text, onclick: act, ...props });

/** Playground: what may happen now, by node; faults; undo, reset, copy the token. */
function playground(model, host) {
  const groups = make("div", { className: "groups" });
  const status = make("span", { className: "status" });
  status.setAttribute("role", "status");
  const tools = make("div", { className: "tools" });
  host.append(make("div", { className: "acts" }, groups, tools));
  const send = (message) => model.send(message);
  return () => {
    const { words, nodes, token, error, moved } = model.get("ui");
    const focus = groups.contains(document.activeElement);
    groups.replaceChildren(...nodes.map((node) => actions(node, words, send)));
    tools.replaceChildren(
      button(words.undo, () => send({ type: "undo" }), { disabled: !moved }),
      button(words.reset, () => send({ type: "reset" }), { disabled: !moved }),
      button(words.copy, async () => {
        await copy(token);
        status.textContent = words.copied;
      }),
      status);
    status.textContent = error;
    status.classList.toggle("failed", Boolean(error));
    if (focus) groups.querySelector("button")?.focus();
  };
}

function actions(node, words, send) {
  const act = (choice) => send({ type: "do", choice });
  const steps = node.steps.map((option) => {
    const row = make("div", { className: "act" }, button(option.label, () => act(option.choice)));
    if (option.stops) {
      const pick = make("select", { onchange: () => act(pick.value) },
        make("option", { textContent: words.stop, value: "" }),
        ...option.stops.map(({ choice, label }) =>
          make("option", { value: choice, textContent: label })));
      pick.setAttribute("aria-label", `${option.label}: ${words.stop}`);
      row.append(pick);
    }
    return row;
  });
  const faults = node.faults.map((option) =>
    button(option.label, () => act(option.choice), { className: option.kind }));
  return make("fieldset", {}, make("legend", { textContent: node.title }), ...steps,
    make("div", { className: "faults" }, ...faults));
}

/** Copying needs a permission that not every page has; selecting the text always works. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = make("textarea", { value: text });
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
}

/** Predict: choose, lock, and only then see what happens. */
function predict(model, host, player) {
  const { words, question, options, answer, explanations } = model.get("ui");
  const name = `mqlab-ask-${++players}-${Math.random().toString(36).slice(2, 8)}`;
  const labels = options.map((text, i) => make("label", {},
    make("input", { type: "radio", name, value: i, onchange: () => set("chosen", i) }), text));
  const lock = button(words.lock, () => set("locked", true));
  const run = button(words.run, () => { set("revealed", true); player?.play(); });
  const verdict = make("div", { className: "verdict" });
  verdict.setAttribute("aria-live", "polite");
  host.prepend(make("div", { className: "ask" },
    make("fieldset", {}, make("legend", { textContent: question }), ...labels),
    make("div", { className: "buttons" }, lock, run), verdict));
  const set = (trait, value) => { model.set(trait, value); model.save_changes(); update(); };
  const from = player?.step >= 0 ? player.step : player?.wish ?? 0;
  const update = () => {
    const [chosen, locked, revealed] = ["chosen", "locked", "revealed"].map((t) => model.get(t));
    labels.forEach((label, i) => {
      label.firstChild.checked = i === chosen;
      label.firstChild.disabled = locked;
      label.classList.toggle("chosen", i === chosen);
    });
    lock.disabled = locked || chosen < 0;
    run.disabled = !locked || revealed;
    host.classList.toggle("veiled", !revealed);
    if (player) {
      player.limit = revealed ? Infinity : from;
      player.draw(Math.min(player.current, player.limit));
    }
    if (!revealed) return verdict.replaceChildren();
    const right = chosen === answer;
    const lines = [[right ? "yes" : "no", right ? words.right : words.wrong, chosen]];
    if (!right) lines.push(["yes", words.answer, answer]);
    verdict.replaceChildren(...lines.map(([cls, word, i]) => make("div", {},
      make("b", { className: cls, textContent: `${word} ` }),
      make("q", { textContent: options[i] }), ` ${explanations[i]}`)));
  };
  for (const trait of ["chosen", "locked", "revealed"]) model.on(`change:${trait}`, update);
  return update;
}

/** Follow: where the facts come from, and whether they still come. */
function follow(model, host) {
  const status = make("div", { className: "status" });
  status.setAttribute("role", "status");
  host.append(status);
  return () => {
    const { status: text, failed } = model.get("ui");
    status.textContent = text;
    status.classList.toggle("failed", failed);
  };
}

export default { render };
