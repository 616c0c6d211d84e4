// The player: plays what Python encoded, and nothing else. By hand, and one module:
// player.py lists the files that are inlined into a notebook output and a page; widget.js and a
// widget's own file follow where Python answers (see widget.py). Text from Python only ever becomes
// textContent.

let players = 0;

const WORD_MS = 250; // 240 words a minute
const LEAST_MS = 1200; // of a step that plays
const SIZES = ["small", "wide"]; // variants of a panel, by room
const SPEEDS = [0.5, 1, 2];
const NAMES = { en: ["En", "English"], zh: ["中", "中文"] }; // of languages: short, and whole

/** Words to read; a Chinese character is a little more than half of one. */
function countWords(text) {
  const signs = text.match(/\p{Script=Han}/gu)?.length ?? 0;
  const words = text.replace(/\p{Script=Han}/gu, " ").match(/[\p{L}\p{N}][^\s]*/gu)?.length ?? 0;
  return words + 0.6 * signs;
}

/** What a screen reader would say again is only touched where it is new. */
function say(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

const ICONS = {
  first: "M4 4h2.4v12H4zM16 4v12L7.6 10z", back: "M14.5 4v12L6 10z", play: "M6 4v12l9.5-6z",
  pause: "M5 4h3.6v12H5zM11.4 4H15v12h-3.6z", next: "M5.5 4v12l6.6-6zM13 4h2.4v12H13z",
  last: "M4 4v12l8.4-6zM13.6 4H16v12h-2.4z",
  whole: "M3 3h6v2H5v4H3zM11 3h6v6h-2V5h-4zM3 11h2v4h4v2H3zM15 11h2v6h-6v-2h4z",
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
    this.speed = 1; // which of SPEEDS
    this.ask = () => {}; // for positions that Python has not drawn yet
    this.drawn = () => {}; // after each step: what is over the pictures moves with them
    this.translated = () => {}; // in the other language: what is around speaks it too
    // A reader who opens at a folded fact, or has just done it, wants to see it.
    this.unfolded = unfolded || Boolean(data.meta.facts[data.meta.step - 1]?.fold);
    this.frame();
    this.load(data, data.meta.step);
  }

  /** The parts that outlive a payload. */
  frame() {
    const button = (name, act) => {
      const el = make("button", { type: "button", onclick: act });
      if (ICONS[name]) el.append(icon(name)); else el.className = name;
      this.buttons[name] = el;
      return el;
    };
    this.buttons = {};
    const heading = this.host.dataset.heading || "div";
    this.title = make(heading, { className: "title", id: `${this.id}-title` });
    this.system = make("span", { className: "chip" });
    this.evidence = make("span", { className: "chip" });
    this.evidence.setAttribute("role", "note");
    this.place = make("span");
    this.levels = make("span", { className: "levels" });
    this.levels.setAttribute("role", "group");
    this.foldButton = make("button",
      { type: "button", className: "link", onclick: () => this.fold() });
    this.stage = new Stage(this.host, this.id, {});
    this.stage.el.addEventListener("click", (event) => this.clicked(event));
    this.stage.before = () => { this.keepTitle(); this.keepRoom(); };
    this.stage.changed = () => { if (this.step >= 0) this.draw(this.step); };
    this.slider = make("input", { type: "range", min: 0, step: 1, id: `${this.id}-slider`,
      oninput: () => this.go(Number(this.slider.value)) });
    this.ticks = document.createElementNS(SVG, "svg");
    this.ticks.setAttribute("preserveAspectRatio", "none");
    this.ticks.setAttribute("aria-hidden", "true");
    this.line = make("div", { className: "line" });
    this.why = make("div", { className: "why" });
    this.say = make("div", { className: "say" }, this.line, this.why);
    this.say.setAttribute("aria-live", "polite");
    this.alarm = make("div", { className: "alarm" });
    this.alarm.setAttribute("role", "alert");
    const controls = make("div", { className: "controls" },
      button("first", () => this.go(0)), button("back", () => this.go(this.before())),
      button("play", () => this.play()), button("next", () => this.go(this.after())),
      button("last", () => this.go(this.end)), button("speed", () => this.faster()),
      make("div", { className: "slide" }, this.ticks, this.slider));
    this.legend = new Legend(this.id, () => this.host.focus({ preventScroll: true }));
    this.body = make("div", { className: "body" }, this.stage.el,
      make("div", { className: "bottom" }, controls, this.say, this.alarm),
      this.legend.el);
    this.host.replaceChildren(
      make("div", { className: "top" }, this.title,
        make("span", { className: "rest" }, this.evidence, this.system),
        make("span", { className: "count" }, this.place, this.foldButton), this.levels,
        this.legend.button, button("whole", () => this.enlarge())),
      this.body);
    this.buttons.play.classList.add("main");
    this.buttons.speed.textContent = "1×";
    this.host.tabIndex = 0;
    this.host.setAttribute("role", "group");
    this.host.setAttribute("aria-labelledby", `${this.id}-title`);
    this.host.addEventListener("keydown", (event) => this.key(event));
    this.host.addEventListener("fullscreenchange", () => {
      if (document.fullscreenElement) this.rescale(); else this.shrink();
    });
  }

  /** Another payload into the same frame: a playground moved, a followed broker went on. */
  load(data, step) {
    this.data = data;
    const { meta } = data;
    const { words } = meta;
    if (this.stage.whole && !meta.given) return this.rescale();
    this.end = meta.facts.length;
    // Where they are what they were, they are left alone: the whole player would be styled again.
    const { host } = this, scale = String(meta.scale);
    if (host.lang !== meta.lang) host.lang = meta.lang;
    if (host.style.getPropertyValue("--scale") !== scale) host.style.setProperty("--scale", scale);
    this.title.textContent = this.title.title = meta.title;
    this.title.hidden = !meta.title;
    if (!meta.title) this.host.setAttribute("aria-label", words.player);
    this.system.textContent = this.system.title = meta.system;
    this.system.hidden = !meta.system;
    for (const name in this.buttons) this.label(name, name);
    if (this.stage.whole) this.label("whole", "part");
    if (this.timer) this.label("play", "pause");
    this.slider.setAttribute("aria-label", words.slider);
    this.slider.max = this.end;
    this.stage.words = words;
    this.legend.load(meta.legend ?? [], words);
    this.loadLevels(meta);
    this.panels = data.panels.map((packed) => this.panel(packed, meta));
    this.folded = meta.facts.filter((fact) => fact.fold).length;
    this.foldButton.hidden = !this.folded;
    this.step = -1; // the step before may not exist in this payload
    this.drawTicks();
    this.saidAt = -1;
    this.arrange(true);
    this.wish = null;
    const first = Math.max(0, Math.min(step, this.end, this.limit));
    if (!this.stage.was) return this.go(first); // it may not be in the page yet
    this.draw(first, false);
    requestAnimationFrame(() => { this.stage.fit(); this.stage.reveal(); });
  }

  /** The switch of how much is shown; a reader's choice outlives a payload that has it. */
  loadLevels({ levels, level, words }) {
    const known = levels.map(([name]) => name);
    if (!known.includes(this.level)) this.level = known.includes(level) ? level : "everything";
    const offered = JSON.stringify([levels, words.levels]);
    if (offered === this.offered) return this.pressLevel();
    this.offered = offered;
    this.levels.setAttribute("aria-label", words.levels);
    this.levels.title = words.levels;
    this.levels.replaceChildren(...levels.map(([name, text]) => {
      const [first] = text, rest = make("span", { textContent: text.slice(first.length) });
      const button = make("button", { type: "button", title: text,
        onclick: () => this.choose(name) }, first, rest);
      button.setAttribute("aria-label", text);
      button.dataset.level = name;
      return button;
    }));
    this.pressLevel();
  }

  pressLevel() {
    for (const button of this.levels.children) {
      button.setAttribute("aria-pressed", button.dataset.level === this.level);
    }
    if (this.host.dataset.level !== this.level) this.host.dataset.level = this.level;
  }

  /** Another level of the same moment. */
  choose(level) {
    this.level = level;
    this.pressLevel();
    this.saidAt = -1;
    this.arrange();
    this.drawTicks();
    this.draw(this.current);
  }

  /** What is said of a position: at the level of the story its sentence, or the one before it. */
  tell(step) {
    const { facts } = this.data.meta;
    if (this.level !== "story") return facts[step - 1];
    const told = facts.slice(0, step).findLast(({ story }) => story);
    return told && { ...told, line: told.story, why: told.money };
  }

  /** A button for the same trace in the other language, which is unpacked when it is asked for. */
  offer(packed) {
    const button = this.language = make("button", { type: "button" });
    const name = () => {
      button.lang = this.data.meta.lang === "en" ? "zh" : "en";
      [button.textContent, button.title] = NAMES[button.lang];
      button.setAttribute("aria-label", button.title);
    };
    let other = null;
    button.onclick = async () => {
      other ??= await unpack(readBytes(packed));
      [this.data, other] = [other, this.data];
      this.rescale();
      document.documentElement.lang = this.data.meta.lang;
      document.title = this.data.meta.title || document.title;
      this.translated();
      name();
    };
    name();
    this.legend.button.before(button);
  }

  /** A panel with its place: what the stage arranges. */
  panel(packed, meta) {
    const { size, side, tab, pinned, yields, rows, levels } = meta.panels[packed.name];
    const [base, variant] = packed.name.split("/");
    const before = this.panels?.find((one) => one.base === base && one.variant === variant)?.panel;
    const panel = new Panel(packed, this.data.shapes, meta.panels[packed.name], meta.scale, before);
    panel.svg.dataset.panel = base;
    const shows = meta.facts.map((fact) =>
      (levels.includes("story") ? Boolean(fact.story) : variant === "all" || !fact.fold));
    return {
      base, variant, levels, side, tab, pinned, yields, panel, el: panel.svg, visible: true,
      width: size[0] * meta.scale, height: size[1] * meta.scale,
      rows: rows && new Rows(panel, rows, shows),
    };
  }

  /** A title that is wider than its line takes two. */
  keepTitle() {
    const { classList } = this.title;
    classList.remove("long");
    classList.toggle("long", this.title.scrollWidth > this.title.clientWidth);
  }

  /** The narration has the room that its longest sentences need, so that nothing jumps. All of
   *  them are measured in one layout, before the panels get what it leaves. */
  keepRoom() {
    if (this.say.clientWidth === this.saidAt) return;
    const { words } = this.data.meta;
    const facts = this.data.meta.facts.map((_, i) => this.tell(i + 1)).filter(Boolean);
    const long = [({ line }) => line.length, ({ why }) => why.length,
      ({ line, why }) => line.length + why.length];
    const said = new Set(long.flatMap((length) =>
      [...facts].sort((a, b) => length(b) - length(a)).slice(0, 3)));
    said.add({ line: words.start, why: words.begin });
    const tries = [...said].map(({ line, why }) => make("div", { className: "try" },
      make("div", { className: "line", textContent: line }),
      make("div", { className: "why", textContent: why })));
    this.say.append(...tries);
    const height = Math.max(...tries.map((el) => el.offsetHeight));
    for (const el of tries) el.remove();
    this.say.style.minHeight = `${height}px`;
    this.saidAt = this.say.clientWidth;
  }

  /** Of two variants only the one that is wanted; the stage knows what room there is and takes the
   *  small or the wide one. `next`: of a payload that has just come. */
  arrange(next = false) {
    const there = this.panels.filter(({ levels }) => levels.includes(this.level));
    const both = new Set(there.filter((p) => p.variant === "all").map((p) => p.base));
    const unfolded = this.unfolded && this.level !== "protocol";
    const shown = there.filter(({ base, variant }) => !SIZES.includes(variant)
      && (!both.has(base) || (variant === "all") === unfolded));
    for (const panel of shown) for (const size of SIZES) {
      panel[size] = there.find((p) => p.variant === size && p.base === panel.base);
    }
    this.stage.show(shown, this.data.meta.scale, next);
  }

  /** The panels that are arranged, in sight or in a tab. */
  get shown() { return this.stage.panels; }

  drawTicks() {
    const { facts } = this.data.meta;
    this.ticks.setAttribute("viewBox", `0 0 ${Math.max(this.end, 1)} 20`);
    const d = { low: "", tall: "", crash: "" };
    // Where ticks would touch each other only crashes are worth one.
    const dense = facts.length > 150;
    facts.forEach((fact, i) => {
      if (this.level === "story" && !fact.story) return;
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

  /** Ask for a step. Drawn at most once a frame; the newest wish wins. One that Python has not
   *  drawn yet waits for its payload. */
  go(step) {
    const idle = this.wish === null || this.waits;
    this.wish = Math.max(0, Math.min(step, this.end, this.limit));
    if (this.waits) return this.ask();
    if (idle) requestAnimationFrame(() => {
      const { wish, step: before } = this;
      if (wish === null || this.waits) return; // another payload came first, or must come
      this.wish = null;
      this.draw(wish);
      const near = wish > before && wish <= this.after(before);
      if (near && this.level !== "story") this.stage.carry();
    });
  }

  /** `laid`: whether the page may be laid out at once, which the next frame does in any case. */
  draw(step, laid = true) {
    if (!this.stage.was) this.stage.fit();
    this.step = step;
    this.stage.seek(step, this.before(step));
    const { facts, words, evidence } = this.data.meta;
    const fact = facts[step - 1], told = this.tell(step), simple = this.level === "story";
    const total = facts.length ? facts[facts.length - 1].index : 0;
    const number = fact ? fact.index : facts.length ? facts[0].index - 1 : 0;
    this.place.textContent = words.place.replace("{n}", number).replace("{of}", total);
    const folding = this.unfolded ? words.fold : words.folded;
    this.foldButton.textContent = folding.replace("{n}", this.folded);
    this.foldButton.hidden = !this.folded || this.level !== "everything";
    this.place.hidden = simple;
    this.foldButton.setAttribute("aria-expanded", this.unfolded);
    this.slider.value = step;
    const heard = told && (simple ? told.line : `${told.index}: ${told.line}`);
    this.slider.setAttribute("aria-valuetext", heard || words.start);
    this.done.setAttribute("d", `M0 10H${step}`);
    say(this.line, told ? told.line : words.start);
    say(this.why, told ? told.why : step ? "" : this.end ? words.begin : words.empty);
    const first = simple ? this.line : this.why; // what it means comes before how it is called
    if (this.say.firstChild !== first) this.say.prepend(first);
    const alarm = fact?.red ? words.red.replace("{what}", fact.red) : "";
    say(this.alarm, alarm);
    this.evidence.textContent = fact ? fact.evidence : "";
    this.evidence.setAttribute("aria-label", fact ? `${words.evidence}${fact.evidence}` : "");
    this.evidence.hidden = !fact || this.data.meta.calm || this.level !== "everything";
    this.evidence.title = fact ? evidence[fact.kind] : "";
    this.evidence.dataset.kind = fact ? fact.kind : "";
    const stop = Math.min(this.end, this.limit);
    // Not `disabled`: a button that switches itself off would take the focus with it.
    const off = (names, idle) => {
      for (const name of names) this.buttons[name].setAttribute("aria-disabled", idle);
    };
    off(["first", "back"], step === 0);
    off(["next", "last"], step >= stop);
    off(["play"], stop === 0);
    this.host.dataset.step = step;
    if (laid) this.stage.reveal();
    this.stage.describe();
    this.drawn();
  }

  /** The next position that is not folded away, and the one before. */
  after(from = this.current) {
    let step = Math.min(from + 1, this.end);
    while (step < this.end && this.hides(step)) step++;
    return step;
  }

  before(from = this.current) {
    let step = Math.max(from - 1, 0);
    while (step > 0 && this.hides(step)) step--;
    return step;
  }

  /** Whether the wish is a position before the first one that is drawn. */
  get waits() { return this.wish !== null && this.wish < this.data.meta.first; }

  get current() { return this.wish ?? this.step; }

  /** The number of the current fact, which a window that moved on may still hold. */
  get index() { return this.data.meta.facts[this.current - 1]?.index; }

  hides(step) {
    const fact = this.data.meta.facts[step - 1];
    if (this.level === "story") return fact && !fact.story;
    return (!this.unfolded || this.level === "protocol") && fact?.fold;
  }

  /** Bring the panel of this name into sight. */
  show(base) { this.stage.open(base); }

  fold() {
    this.unfolded = !this.unfolded;
    this.arrange();
    this.draw(this.current);
  }

  clicked(event) {
    for (let el = event.target; el && el !== this.stage.el; el = el.parentNode) {
      const [kind, step] = (el.mqlabKey ?? "").split(":");
      if (kind === "row") { this.stop(); return this.go(Number(step)); }
      if (kind === "fold") return this.fold();
    }
  }

  /** Go on by itself, each step for as long as its words take to read. */
  play() {
    if (this.timer) return this.stop();
    this.go(this.current >= this.stopAt ? 0 : this.after());
    this.look("pause");
    this.wait();
  }

  wait() {
    if (this.current >= this.stopAt) return this.stop();
    this.timer = setTimeout(() => {
      if (!this.host.isConnected) return this.stop();
      this.go(this.after());
      this.wait();
    }, this.pace());
  }

  get stopAt() { return Math.min(this.end, this.limit); }

  /** How many ms the current step stays while the trace plays. */
  pace() {
    const { line, why } = this.data.meta.facts[this.current - 1] ?? { line: "", why: "" };
    return Math.max(LEAST_MS, WORD_MS * countWords(`${line} ${why}`)) / SPEEDS[this.speed];
  }

  faster() {
    this.speed = (this.speed + 1) % SPEEDS.length;
    this.buttons.speed.textContent = `${SPEEDS[this.speed]}×`;
  }

  /** Over the whole window: by the browser if it lets us, else over what surrounds us. */
  async enlarge() {
    if (this.stage.whole) return this.shrink();
    this.host.classList.add("whole");
    this.rescale();
    try {
      await this.host.requestFullscreen();
    } catch {
      // Not allowed here, such as in a frame: the class alone spreads it.
    }
  }

  shrink() {
    if (document.fullscreenElement === this.host) document.exitFullscreen();
    if (!this.stage.whole) return;
    this.host.classList.remove("whole");
    this.rescale();
  }

  /** In the whole window everything is as large as it allows. */
  rescale() {
    const { meta } = this.data;
    meta.given ??= meta.scale;
    const room = Math.min(innerWidth / WHOLE.width, innerHeight / WHOLE.height);
    meta.scale = meta.given * (this.stage.whole ? Math.max(1, room) : 1);
    this.load(this.data, Math.max(this.current, 0));
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = null;
    this.look("play");
  }

  look(name) {
    this.buttons.play.replaceChildren(icon(name));
    this.label("play", name);
  }

  label(name, word) {
    const text = this.data.meta.words[word];
    this.buttons[name].title = text;
    this.buttons[name].setAttribute("aria-label", text);
  }

  /** What the buttons say; a key that JupyterLab would take for a command stays here, but
   *  Shift+Enter runs the cell and Escape leaves, unless something of ours is open. */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { key, target } = event;
    const open = this.legend.open || this.stage.whole;
    if ((key === "Enter" && event.shiftKey) || (key === "Escape" && !open)) return;
    event.stopPropagation();
    const typing = target !== this.slider && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
    const pressing = key === " " && target.tagName === "BUTTON";
    const act = {
      ArrowRight: () => this.go(this.after()), ArrowLeft: () => this.go(this.before()),
      Home: () => this.go(0), End: () => this.go(this.end), " ": () => this.play(),
      f: () => this.enlarge(), "?": () => this.legend.toggle(),
      Escape: () => (this.legend.open ? this.legend.toggle() : this.shrink()),
    }[key];
    if (!act || pressing || (typing && key !== "Escape")) return;
    event.preventDefault();
    if (/^(Arrow|Home|End)/.test(key)) this.stop();
    act();
  }
}
