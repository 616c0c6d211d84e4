// The panel of a search. Follows search_tree.js in one module, whose names it uses.
// Text from Python only ever becomes textContent.

/** Button and progress, the tree of states, the verdict, the claims, and the trace that is shown.
   */
class Explorer {
  constructor(model, host) {
    this.model = model;
    this.host = host;
    this.player = null;
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
      return [value, make("span", { className: "figure" }, value, ` ${words[name]}`)];
    };
    let states, depth, rate;
    [this.states, states] = figure("states");
    [this.depth, depth] = figure("depth");
    [this.rate, rate] = figure("rate");
    this.verdict = make("div", { className: "verdict" });
    this.verdict.setAttribute("role", "status");
    this.tree = new SearchTree(words, (number) => this.model.send({ type: "visit", number }));
    const head = make("tr", {}, ...["claim", "sentence", "kind", "result"].map((name) =>
      make("th", { textContent: words[name], scope: "col" })));
    this.rows = make("tbody");
    this.claims = make("details", { className: "claims", open: true },
      make("summary", { textContent: words.claims }),
      make("table", {}, make("thead", {}, head), this.rows));
    this.run = make("div", { className: "mqlab" });
    this.host.replaceChildren(
      make("div", { className: "top" },
        make("div", { className: "title", textContent: title }),
        make("span", { className: "chip", textContent: system, title: system }),
        make("div", { className: "figures" }, states, depth, rate)),
      make("div", { className: "searching" }, this.toggle, make("div", { className: "outcome" },
        this.verdict, make("div", { className: "within", textContent: within }))),
      this.tree.el, this.claims, this.run);
  }

  press() {
    this.model.send({ type: this.ui.phase === "running" ? "stop" : "start" });
  }

  /** Keys pressed here are not commands to JupyterLab, but Escape and Shift+Enter stay its own. */
  key(event) {
    const own = event.key === "Escape" || (event.key === "Enter" && event.shiftKey);
    if (!own && !event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  }

  update() {
    const { words, phase, states, depth, rate, tree, sentence, mood, run } = this.ui;
    const number = (n) => n.toLocaleString("en");
    this.toggle.textContent = { ready: words.start, running: words.stop, done: words.again }[phase];
    this.host.dataset.phase = phase;
    this.states.textContent = number(states);
    this.depth.textContent = number(depth);
    this.rate.textContent = number(rate);
    if (this.verdict.textContent !== sentence) this.verdict.textContent = sentence;
    this.verdict.className = `verdict ${mood}`;
    this.list();
    if (run !== this.named) this.makeRoom(run);
    this.tree.update(tree, states);
  }

  /** A trace needs the space: the tree becomes lower and the claims fold, but not in use. */
  makeRoom(run) {
    this.named = run;
    this.host.classList.toggle("playing", Boolean(run));
    if (!this.claims.contains(document.activeElement)) this.claims.open = !run;
  }

  /** The claims. Only what changed is built again: a button in use keeps the focus. */
  list() {
    const { words, rows, shown } = this.ui;
    rows.forEach((row, i) => {
      const said = JSON.stringify([row, row.name === shown]);
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
    if (row.shows) {
      const show = button(words.show, () => this.model.send({ type: "show", name: row.name }));
      show.setAttribute("aria-pressed", shown);
      show.setAttribute("aria-label", `${words.show}: ${row.name}`);
      result.append(show);
    }
    return make("tr", { className: shown ? "shown" : "" },
      make("td", {}, make("code", { textContent: row.name })),
      make("td", { className: "sentence", textContent: row.sentence }),
      make("td", { className: "kind", textContent: row.kind }), result);
  }

  async play() {
    const bytes = bytesOf(this.model);
    this.run.hidden = !bytes.length;
    this.player?.stop();
    if (!bytes.length) return;
    const data = await unpack(bytes);
    Object.assign(data.meta, { title: this.ui.run, system: "" }); // the system is above
    if (this.player) this.player.load(data, data.meta.step);
    else this.player = new Player(this.run, data);
  }
}

async function explorer({ model, el }) {
  await filled(model);
  hideStill(model.get("ui").still);
  const host = make("div", { className: "mqlab explorer" });
  el.append(host);
  const panel = new Explorer(model, host);
  const update = () => panel.update();
  const play = () => panel.play();
  model.on("change:ui", update);
  model.on("change:payload", play);
  update();
  play().then(() => bringIn(host));
  return () => {
    panel.player?.stop();
    model.off("change:ui", update);
    model.off("change:payload", play);
  };
}

export default { render: explorer };
