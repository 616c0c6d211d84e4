// The list of a Parsons exercise. Follows player.js and widget.js in one module, whose names it
// uses. Text from Python only ever becomes textContent.

/** Pieces not in use on the left, the learner's order on the right, verdict and trace below. */
class Ordering {
  constructor(model, host) {
    this.model = model;
    this.host = host;
    this.busy = false;
    this.player = null;
    this.pool = make("ul", { className: "pieces" });
    this.list = make("ol", { className: "pieces" });
    this.live = make("div", { className: "status" });
    this.live.setAttribute("role", "status");
    this.verdict = make("div", { className: "verdict" });
    this.verdict.setAttribute("aria-live", "polite");
    this.run = make("div", { className: "mqlab" });
    this.host.setAttribute("role", "group");
    this.host.addEventListener("keydown", (event) => this.key(event));
    this.frame();
  }

  get ui() { return this.model.get("ui"); }
  get order() { return this.model.get("order"); }

  frame() {
    const { words, question, lang, scale } = this.ui;
    this.host.lang = lang;
    this.host.style.setProperty("--scale", scale);
    this.host.setAttribute("aria-label", question);
    this.judge = button(words.judge, () => this.ask());
    const column = (title, list) => {
      list.setAttribute("aria-label", title);
      return make("div", { className: "column" },
        make("div", { className: "head", textContent: title }), list);
    };
    this.host.replaceChildren(
      make("div", { className: "question", textContent: question }),
      make("div", { className: "columns" },
        column(words.pool, this.pool), column(words.list, this.list)),
      make("div", { className: "tools" }, this.judge,
        make("span", { className: "hint", textContent: words.keys }), this.live),
      this.verdict, this.run);
  }

  /** Both lists again; the focus goes to `key`, at the button with this action. */
  draw(key = null, action = null) {
    const { pieces, words } = this.ui;
    const free = pieces.filter((piece) => !this.order.includes(piece.key));
    const used = this.order.map((name) => pieces.find((piece) => piece.key === name));
    this.pool.replaceChildren(...free.map((piece) => this.item(piece, ["add"])));
    this.list.replaceChildren(...used.map((piece) => this.item(piece, ["up", "down", "out"])));
    for (const [list, text] of [[this.pool, words.all], [this.list, words.empty]]) {
      if (!list.childElementCount) {
        list.append(make("li", { className: "none", textContent: text }));
      }
    }
    // Not `disabled`: the focus stays on it while Python is at work.
    this.judge.setAttribute("aria-disabled", this.busy);
    if (key !== null) this.focus(key, action);
  }

  item(piece, actions) {
    const { words } = this.ui;
    const place = this.order.indexOf(piece.key);
    const useless = { up: place === 0, down: place === this.order.length - 1 };
    const buttons = actions.map((action) => {
      const el = make("button", { type: "button", title: words[action],
        onclick: () => this.act(action, piece.key), disabled: this.busy });
      el.dataset.action = action;
      el.setAttribute("aria-label", `${words[action]}: ${piece.text}`);
      // Not `disabled`: the focus must be able to stay on a piece that has arrived.
      if (useless[action]) el.setAttribute("aria-disabled", "true");
      el.append(icon(action));
      return el;
    });
    const el = make("li", {}, make("code", { textContent: piece.key }),
      make("span", { className: "text", textContent: piece.text }),
      make("span", { className: "moves" }, ...buttons));
    el.dataset.key = piece.key;
    return el;
  }

  focus(key, action) {
    const item = [...this.host.querySelectorAll("li")].find((el) => el.dataset.key === key);
    const wanted = item?.querySelector(`[data-action=${action}]`) ?? item?.querySelector("button");
    (wanted ?? this.judge).focus();
  }

  act(action, key) {
    if (this.busy) return;
    const order = [...this.order];
    const at = order.indexOf(key);
    const to = { up: at - 1, down: at + 1, out: -1, add: order.length }[action];
    if (action === "out" ? at < 0 : to < 0 || (action !== "add" && to >= order.length)) return;
    const pieces = [...this.pool.querySelectorAll("li")].map((el) => el.dataset.key);
    if (at >= 0) order.splice(at, 1);
    if (action !== "out") order.splice(to, 0, key);
    tell(this.model, { order, kept: keepInCell(this.host, order) });
    // Who adds goes on adding: to the piece that follows in the pool.
    const next = pieces[pieces.indexOf(key) + 1] ?? pieces[pieces.indexOf(key) - 1] ?? key;
    this.update(action === "add" ? next : key, action === "out" ? "add" : action);
    const text = this.ui.words[action === "out" ? "removed" : "placed"];
    this.live.textContent = text.replace("{piece}", key).replace("{n}", to + 1)
      .replace("{of}", order.length);
    if (this.ui.cell && !this.model.get("kept")) {
      this.live.textContent += ` ${this.ui.words.unkept}`;
    }
  }

  /** Keys belong to the list: JupyterLab would take them for its own. */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.run.contains(event.target)) return;
    event.stopPropagation();
    const item = event.target.closest("li");
    const action = { ArrowUp: "up", ArrowDown: "down", Delete: "out", Backspace: "out" }[event.key];
    if (!item?.dataset.key || !action) return;
    event.preventDefault();
    if (this.list.contains(item)) return this.act(action, item.dataset.key);
    const near = action === "up" ? item.previousElementSibling : item.nextElementSibling;
    if (action !== "out") near?.querySelector("button")?.focus();
  }

  ask() {
    if (this.busy) return;
    this.busy = true;
    this.live.textContent = this.ui.words.busy;
    this.draw();
    this.model.send({ type: "judge", order: this.order });
  }

  /** Python has said something. */
  answered() {
    this.busy = false;
    this.live.textContent = this.ui.error;
    this.live.classList.toggle("failed", Boolean(this.ui.error));
    this.update();
    this.play();
  }

  update(key = null, action = null) {
    this.draw(key, action);
    const { ok, message, words } = this.ui;
    const judged = this.ui.judged ?? null; // the browser's own Python leaves out what is None
    this.host.classList.toggle("judged", judged !== null);
    if (judged === null) return this.verdict.replaceChildren();
    const stale = judged.join() !== this.order.join();
    this.verdict.classList.toggle("stale", stale);
    this.verdict.replaceChildren(
      make("b", { className: ok ? "yes" : "no", textContent: ok ? words.right : words.wrong }),
      ` ${message}`, ...(stale ? [make("i", { textContent: ` ${words.changed}` })] : []));
  }

  async play() {
    const bytes = bytesOf(this.model);
    this.run.hidden = !bytes.length;
    this.player?.stop();
    if (!bytes.length) return;
    const data = await unpack(bytes);
    if (this.player) this.player.load(data, data.meta.step);
    else this.player = new Player(this.run, data);
  }
}

// The call in the cell that shows the widget: its list is the learner's answer.
const KEPT = /\barrange\(\s*\[[^\]]*\]\s*\)/;

/** Write the order into the cell that shows the list, so that it is saved, graded and there the
 *  next day: through the editor of CodeMirror 6, as JupyterLab 4 and Notebook 7 have it.
 *  False where that is not to be found. */
function keepInCell(host, order) {
  const input = host.closest(".jp-Cell")?.querySelector(".jp-Cell-inputWrapper .cm-content");
  const view = input?.cmTile?.root?.view ?? input?.cmView?.rootView?.view;
  const call = view && KEPT.exec(view.state.doc.toString());
  if (!call) return false;
  const insert = `arrange([${order.map((key) => JSON.stringify(key)).join(", ")}])`;
  view.dispatch({ changes: { from: call.index, to: call.index + call[0].length, insert } });
  return true;
}

Object.assign(ICONS, {
  up: "M10 4.5 16 12H4z", down: "M10 15.5 4 8h12z",
  out: "M5.4 4 10 8.6 14.6 4 16 5.4 11.4 10l4.6 4.6-1.4 1.4L10 11.4 5.4 16 4 14.6 8.6 10 4 5.4z",
  add: "M9 4h2v5h5v2h-5v5H9v-5H4V9h5z",
});

async function ordering({ model, el }) {
  await filled(model);
  hideStill(model.get("ui").still);
  const host = make("div", { className: "mqlab ordering" });
  el.append(host);
  const list = new Ordering(model, host);
  const moved = () => list.update();
  const answered = () => list.answered();
  model.on("change:order", moved);
  model.on("change:ui", answered);
  list.answered();
  bringIn(host);
  return () => {
    list.player?.stop();
    model.off("change:order", moved);
    model.off("change:ui", answered);
  };
}

export default { render: ordering };
