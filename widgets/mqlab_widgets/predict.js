// The question of a Predict. Follows player.js and widget.js in one module: `make`, `unpack`,
// `Player`, `button` and `hideStill` are theirs. Text from Python only ever becomes textContent.

/** Choose, lock, run; the trace plays to the asked moment, and shows the verdict there. Neither the
 *  answer nor the rest of the trace is here before Python got the request to run. */
class Question {
  constructor(model, host, player) {
    this.model = model;
    this.host = host;
    this.player = player;
    this.marks = [];
    this.telling = this.arrived = this.lit = false;
    const { words, question, options } = this.ui;
    const name = `mqlab-ask-${++players}-${Math.random().toString(36).slice(2, 8)}`;
    this.labels = options.map((text, i) => make("label", {},
      make("input", { type: "radio", name, value: i, onchange: () => this.choose(i) }),
      make("span", { textContent: text })));
    this.lock = button(words.lock, () => this.close());
    this.run = button(words.run, () => this.start(), { className: "main" });
    this.verdict = make("div", { className: "verdict" });
    this.verdict.setAttribute("aria-live", "polite");
    this.status = make("span", { className: "status" });
    this.status.setAttribute("role", "status");
    this.buttons = make("div", { className: "buttons" }, this.lock, this.run, this.status);
    this.ask = make("div", { className: "ask" },
      make("fieldset", {}, make("legend", { textContent: question }), ...this.labels),
      this.buttons, this.verdict);
    host.prepend(this.ask);
    if (player) {
      new MutationObserver(() => this.stepped()).observe(host, { attributeFilter: ["data-step"] });
    } else {
      host.lang = this.ui.lang;
      host.tabIndex = -1;
      host.addEventListener("keydown", keepArrows);
    }
  }

  get ui() { return this.model.get("ui"); }
  get told() { return this.ui.verdict.length > 0; }

  choose(i) {
    tell(this.model, { chosen: i });
    this.update();
  }

  close() {
    tell(this.model, { locked: true });
    this.keep();
    this.update();
    this.run.focus();
  }

  start() {
    this.model.send({ type: "run" });
    this.run.disabled = true;
    // The button is about to go; around it the keys are the player's.
    this.host.focus({ preventScroll: true });
  }

  /** What was answered into the notebook's cell, or a word that it is not there. */
  keep() {
    const kept = keepAnswer(this.model, this.told);
    tell(this.model, { kept });
    this.status.textContent = kept ? "" : this.ui.words.unkept;
  }

  /** Python has said something: the rest of the trace, and the verdict for its end. */
  async answered(data) {
    if (!this.told || this.telling) return this.update();
    this.telling = true;
    this.keep();
    const { until } = this.ui;
    if (!this.player) return this.arrive();
    const { player } = this;
    const from = Math.min(player.current, until);
    player.limit = until; // no learner gets past it before the verdict
    player.unfolded ||= Boolean(data.meta.facts[until - 1]?.fold);
    player.load(data, from);
    this.update();
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (calm || from >= until) player.go(until);
    else {
      player.stop();
      player.play(); // to its limit; a reader who stops it walks on by the controls
    }
  }

  /** The picture is at another step. */
  stepped() {
    if (!this.told) return;
    const { until } = this.ui;
    if (!this.arrived && this.player.step >= until) this.arrive();
    this.mark(this.arrived && this.player.step === until);
  }

  arrive() {
    this.arrived = true;
    this.update();
    if (!this.player) return;
    this.player.limit = Infinity;
    this.player.draw(this.player.step);
  }

  /** Light what answers: a panel, or a line in one. It comes into sight when the light comes on;
   *  a tab that is chosen afterwards stays. */
  mark(lit) {
    if (lit && !this.lit) for (const { panel } of this.ui.shows) this.player.show(panel);
    this.lit = lit;
    for (const rect of this.marks.splice(0)) rect.remove();
    if (!lit) return;
    for (const { panel: name, key } of this.ui.shows) {
      for (const { base, panel } of this.player.shown) {
        if (base !== name) continue;
        const el = key ? panel.elements.find((element) => element.key === key)?.el : panel.svg;
        if (el) this.marks.push(underline(el));
      }
    }
  }

  update() {
    const [chosen, locked] = ["chosen", "locked"].map((trait) => this.model.get(trait));
    this.labels.forEach((label, i) => {
      label.firstChild.checked = i === chosen;
      label.firstChild.disabled = locked;
      label.classList.toggle("chosen", i === chosen);
      label.hidden = locked && (i !== chosen || this.arrived);
    });
    this.lock.hidden = locked;
    this.lock.disabled = chosen < 0;
    this.run.hidden = !locked || this.told;
    this.buttons.hidden = this.run.hidden && locked && !this.status.textContent;
    this.host.classList.toggle("told", this.arrived);
    this.verdict.replaceChildren(...(this.arrived ? this.ui.verdict : []).map(
      ([ok, word, option, why]) => make("div", {},
        make("b", { className: ok ? "yes" : "no", textContent: `${word} ` }),
        make("q", { textContent: option }), why && ` — ${why}`)));
  }
}

/** Radio buttons are walked with arrow keys; JupyterLab would go to another cell. */
function keepArrows(event) {
  if (event.target.tagName === "INPUT" && event.key.startsWith("Arrow")) event.stopPropagation();
}

/** A band behind a line, or behind a whole panel. */
function underline(el) {
  const { x, y, width, height } = el.viewBox ? el.viewBox.baseVal : el.getBBox();
  const edge = 5;
  const rect = document.createElementNS(SVG, "rect");
  for (const [name, value] of Object.entries({ class: "answer", x: x - edge, y: y - edge,
    width: width + 2 * edge, height: height + 2 * edge, rx: 4 })) rect.setAttribute(name, value);
  el.prepend(rect);
  return rect;
}

/** Write the answer after the question's name in the cell that asks it, so that it is saved,
 *  handed in and there the next day. False where the notebook is out of reach. */
function keepAnswer(model, told) {
  const { cell: id, name } = model.get("ui");
  if (!name) return true;
  const call = new RegExp(
    `(\\bPredict\\(\\s*(["'])${name}\\2)(\\s*,\\s*chosen=\\d+)?(\\s*,\\s*revealed=True)?`);
  for (const cell of model.widget_manager?.context?.model?.cells ?? []) {
    const text = cell.id === id ? cell.sharedModel.getSource() : "";
    if (!call.test(text)) continue;
    const kept = `, chosen=${model.get("chosen")}${told ? ", revealed=True" : ""}`;
    cell.sharedModel.setSource(text.replace(call, `$1${kept}`));
    return true;
  }
  return false;
}

async function ask({ model, el }) {
  await filled(model);
  hideStill(model.get("ui").still);
  const host = make("div", { className: "mqlab predict" });
  el.append(host);
  const data = bytesOf(model).length ? await unpack(bytesOf(model)) : null;
  const player = data && new Player(host, data);
  const question = new Question(model, host, player);
  question.update();
  question.telling = question.told; // then it opens at the asked moment
  if (question.told && !player) question.arrive();
  bringIn(host);
  const answered = async () => question.answered(player && await unpack(bytesOf(model)));
  model.on("change:ui", answered);
  return () => {
    player?.stop();
    model.off("change:ui", answered);
  };
}

export default { render: ask };
