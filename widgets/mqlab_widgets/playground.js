// The actions of a playground. Follows acts.js in one module with player.js and widget.js, whose
// names it uses. Text from Python only ever becomes textContent.

const IDLE_MS = 600; // without a click, before the trace's earlier pictures are asked for

/** Playground: what may happen now, in the picture and by node; its goal; undo, tokens. */
function playground(model, host, player) {
  // Jupyter's server leaves Nagle's algorithm on: after "busy" the picture waits until the browser
  // acknowledges that, which TCP delays by up to 40 ms. Whatever the browser sends acknowledges it.
  const acknowledge = ({ content }) => {
    if (content.execution_state === "busy") model.send({ type: "ack" });
  };
  const send = (message) => model.send(message, { iopub: { status: acknowledge } });
  const { words } = model.get("ui");
  let asked = 0, idle;
  player.ask = () => {
    const { run, first } = player.data.meta;
    if (!first || asked === run) return;
    asked = run;
    send({ type: "past" });
  };
  const areas = new Areas(player, words, send);
  const branches = new Branches(words, send);
  player.body.querySelector(".bottom").before(branches.el);
  const beside = new Beside(player, words);
  player.drawn = () => { areas.place(); beside.follow(); };
  const goal = new GoalLine(words, send, (token) => share(token), () => player.show("lights"));
  const groups = make("div", { className: "groups" });
  const status = make("span", { className: "status" });
  status.setAttribute("role", "status");
  const share = async (token) => {
    await copy(token);
    status.textContent = words[model.get("ui").copied];
  };
  const undo = button(words.undo, () => send({ type: "undo" }));
  const reset = button(words.reset, () => send({ type: "reset" }));
  const on = button(words.on, () => send({ type: "on" }), { title: words.on_title });
  const token = button(words.copy, () => share(model.get("ui").token));
  const tools = make("div", { className: "tools" },
    on, undo, reset, token, paste(words, send), status);
  host.append(make("div", { className: "acts" }, goal.el, groups, tools));
  return () => {
    const ui = model.get("ui");
    areas.load(ui);
    goal.load(ui.goal);
    branches.load(ui);
    beside.load(ui.compared, model.get("other"));
    list(groups, ui.nodes, words, send);
    // Not `disabled`: a button that switches itself off would take the focus with it.
    for (const el of [undo, reset]) el.setAttribute("aria-disabled", !ui.moved);
    status.textContent = ui.error || ui.said;
    status.classList.toggle("failed", Boolean(ui.error));
    clearTimeout(idle);
    idle = setTimeout(player.ask, IDLE_MS);
  };
}

/** The goal in words, how many choices it took, and the shortest execution. */
class GoalLine {
  constructor(words, send, share, celebrate) {
    this.celebrate = celebrate;
    this.text = make("span", { className: "text" });
    this.text.setAttribute("role", "status");
    this.show = button(words.show, () => send({ type: "show" }));
    this.keep = button(words.keep, () => share(this.token));
    this.el = make("div", { className: "goal", hidden: true }, this.text, this.show, this.keep);
  }

  load(goal) {
    this.el.hidden = !goal;
    if (!goal) return;
    this.token = goal.token;
    if (this.text.textContent !== goal.text) this.text.textContent = goal.text;
    this.el.classList.toggle("reached", goal.reached);
    if (goal.reached && !this.reached) this.celebrate();
    this.reached = goal.reached;
    const had = document.activeElement === this.show && !goal.shows;
    this.keep.hidden = !goal.reached;
    this.show.hidden = !goal.shows;
    if (had) this.keep.focus();
  }
}

/** The buttons of what may happen now; the one that was pressed keeps the focus, or its place. */
function list(groups, nodes, words, send) {
  const all = () => [...groups.querySelectorAll("button, select")];
  const at = all().indexOf(document.activeElement);
  // What goes on is before what breaks.
  const first = [...nodes].sort((a, b) => Boolean(b.steps.length) - Boolean(a.steps.length));
  groups.replaceChildren(...first.map((node) => actions(node, words, send)));
  const next = all()[at] ?? all().at(-1) ?? groups.closest(".mqlab");
  if (at >= 0) next.focus({ preventScroll: true });
}

/** A box for a token that was received. */
function paste(words, send) {
  const box = make("input", { type: "text", placeholder: words.paste, autocomplete: "off" });
  box.setAttribute("aria-label", words.paste);
  const open = (event) => {
    event.preventDefault();
    if (box.value.trim()) send({ type: "open", token: box.value });
    box.value = "";
  };
  return make("form", { className: "paste", onsubmit: open }, box,
    make("button", { type: "submit", textContent: words.open }));
}

function actions(node, words, send) {
  const act = (choice) => send({ type: "do", choice });
  const steps = node.steps.map((option) => {
    const row = make("div", { className: "act" }, button(option.label, () => act(option.choice)));
    if (option.stops) row.append(select(words.stop, option.label, option.stops, act));
    return row;
  });
  const breaks = node.faults.filter(({ kind }) => kind === "break");
  const faults = node.faults.filter((option) => breaks.length < 2 || !breaks.includes(option))
    .map((option) => button(option.label, () => act(option.choice), { className: option.kind }));
  if (breaks.length > 1) faults.push(select(words.break, node.title, breaks, act, "break"));
  return make("fieldset", {}, make("legend", { textContent: node.title }),
    make("div", { className: "choices" }, ...steps, ...faults));
}

/** Several choices of one kind, which are done as soon as they are chosen. */
function select(text, of, options, act, className = "") {
  const pick = make("select", { className, onchange: () => act(pick.value) },
    make("option", { textContent: text, value: "" }),
    ...options.map(({ choice, label }) => make("option", { value: choice, textContent: label })));
  pick.setAttribute("aria-label", `${of}: ${text}`);
  return pick;
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

export default { render: (context) => render(context, playground) };
