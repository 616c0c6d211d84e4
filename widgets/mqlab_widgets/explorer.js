// The panel of a search. Follows player.js and widget.js in one module, whose names it uses.
// Text from Python only ever becomes textContent.

/** Button and progress, the verdict, the claims, and the run that refutes one of them. */
class Explorer {
  constructor(model, host) {
    this.model = model;
    this.host = host;
    this.player = null;
    this.opened = null;
    this.frame();
  }

  get ui() { return this.model.get("ui"); }

  /** The parts that stay while a search goes on, so that the focus stays where it is. */
  frame() {
    const { words, title, system, within, lang, scale } = this.ui;
    this.host.lang = lang;
    this.host.style.setProperty("--scale", scale);
    this.host.setAttribute("role", "group");
    this.host.setAttribute("aria-label", title);
    this.host.addEventListener("keydown", (event) => this.key(event));
    this.toggle = button(words.start, () => this.press(), { className: "toggle" });
    const figure = (name) => {
      const value = make("b");
      const label = make("span", { textContent: words[name] });
      return [value, make("div", { className: "figure" }, value, label)];
    };
    let states, depth, rate;
    [this.states, states] = figure("states");
    [this.depth, depth] = figure("depth");
    [this.rate, rate] = figure("rate");
    this.levels = document.createElementNS(SVG, "svg");
    this.levels.setAttribute("role", "img");
    this.levels.setAttribute("preserveAspectRatio", "none");
    this.bars = document.createElementNS(SVG, "path");
    this.levels.append(this.bars);
    this.verdict = make("div", { className: "verdict" });
    this.verdict.setAttribute("role", "status");
    const head = make("tr", {}, ...["claim", "kind", "result"].map((name) =>
      make("th", { textContent: words[name], scope: "col" })));
    this.rows = make("tbody");
    const table = make("table", {}, make("thead", {}, head), this.rows);
    this.caption = make("div", { className: "caption" });
    this.run = make("div", { className: "mqlab" });
    this.host.replaceChildren(
      make("div", { className: "top" },
        make("div", { className: "title", textContent: title }),
        make("span", { className: "chip", textContent: system, title: system }),
        make("span", { className: "within", textContent: within })),
      make("div", { className: "searching" }, this.toggle, states, depth, rate, this.levels),
      this.verdict, make("div", { className: "claims" }, table), this.caption, this.run);
  }

  press() {
    this.model.send({ type: this.ui.phase === "running" ? "stop" : "start" });
  }

  /** Keys pressed here are not commands to JupyterLab. */
  key(event) {
    if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  }

  update() {
    const { words, phase, states, depth, rate, levels, sentence, mood } = this.ui;
    const number = (n) => n.toLocaleString("en");
    this.toggle.textContent = { ready: words.start, running: words.stop, done: words.again }[phase];
    this.host.dataset.phase = phase;
    this.states.textContent = number(states);
    this.depth.textContent = number(depth);
    this.rate.textContent = number(rate);
    this.draw(levels);
    if (this.verdict.textContent !== sentence) this.verdict.textContent = sentence;
    this.verdict.className = `verdict ${mood}`;
    this.list();
  }

  /** A bar for each depth: a search that comes to its end grows narrow again. */
  draw(levels) {
    const { words } = this.ui;
    const most = Math.max(1, ...levels);
    const many = Math.max(levels.length, 24);
    this.levels.setAttribute("viewBox", `0 0 ${many} 40`);
    this.levels.setAttribute("aria-label", `${words.levels}: ${levels.join(", ")}`);
    this.bars.setAttribute("d", levels.map((n, i) => {
      const height = Math.max(1, 38 * n / most);
      return `M${i + 0.1} 40v${-height}h0.8v${height}z`;
    }).join(""));
  }

  /** The claims. Only what changed is built again: a button in use keeps the focus. */
  list() {
    const { words, rows, shown, phase } = this.ui;
    rows.forEach((row, i) => {
      const said = JSON.stringify([row, row.name === shown, phase]);
      const old = this.rows.children[i];
      if (old?.said === said) return;
      const focused = old?.contains(document.activeElement);
      const el = this.row(row, row.name === shown, words);
      el.said = said;
      if (old) old.replaceWith(el); else this.rows.append(el);
      if (focused) el.querySelector("button")?.focus();
    });
  }

  row(row, shown, words) {
    const result = make("td", { className: `result ${row.mood}` },
      make("span", { textContent: row.result }));
    if (row.shows && this.ui.phase === "done") {
      const show = button(words.show, () => this.model.send({ type: "show", name: row.name }));
      show.setAttribute("aria-pressed", shown);
      show.setAttribute("aria-label", `${words.show}: ${row.name}`);
      result.append(show);
    }
    return make("tr", { className: shown ? "shown" : "" },
      make("td", {}, make("code", { textContent: row.name }),
        make("span", { className: "sentence", textContent: row.sentence })),
      make("td", { className: "kind", textContent: row.kind }), result);
  }

  async play() {
    const { shown, words } = this.ui;
    const view = this.model.get("payload");
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    this.run.hidden = this.caption.hidden = !bytes.length;
    this.player?.stop();
    if (!bytes.length) return;
    this.caption.textContent = words.shown.replace("{name}", shown);
    const data = await unpack(bytes);
    if (this.player) this.player.load(data, data.meta.step);
    else this.player = new Player(this.run, data);
  }
}

function explorer({ model, el }) {
  hideStill(model.get("ui").still);
  const host = make("div", { className: "mqlab explorer" });
  el.append(host);
  const panel = new Explorer(model, host);
  const update = () => panel.update();
  const play = () => panel.play();
  model.on("change:ui", update);
  model.on("change:payload", play);
  update();
  play();
  return () => {
    panel.player?.stop();
    model.off("change:ui", update);
    model.off("change:payload", play);
  };
}

export default { render: explorer };
