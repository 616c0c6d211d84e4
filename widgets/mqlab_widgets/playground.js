// The actions of a playground. Follows player.js and widget.js in one module, whose names it uses.
// Text from Python only ever becomes textContent.

/** Playground: what may happen now, by node; faults; undo, reset, copy a token, open one. */
function playground(model, host) {
  const groups = make("div", { className: "groups" });
  const status = make("span", { className: "status" });
  status.setAttribute("role", "status");
  const send = (message) => model.send(message);
  const { words } = model.get("ui");
  const undo = button(words.undo, () => send({ type: "undo" }));
  const reset = button(words.reset, () => send({ type: "reset" }));
  const share = button(words.copy, async () => {
    await copy(model.get("ui").token);
    status.textContent = words.copied;
  });
  const tools = make("div", { className: "tools" }, undo, reset, share, paste(words, send), status);
  host.append(make("div", { className: "acts" }, groups, tools));
  return () => {
    const { nodes, error, said, moved } = model.get("ui");
    const focus = groups.contains(document.activeElement);
    // What goes on stands before what breaks.
    const first = [...nodes].sort((a, b) => Boolean(b.steps.length) - Boolean(a.steps.length));
    groups.replaceChildren(...first.map((node) => actions(node, words, send)));
    undo.disabled = reset.disabled = !moved;
    status.textContent = error || said;
    status.classList.toggle("failed", Boolean(error));
    if (focus) groups.querySelector("button")?.focus();
  };
}

/** A box for a token that somebody has sent. */
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
  return make("fieldset", {}, make("legend", { textContent: node.title }),
    make("div", { className: "choices" }, ...steps, ...faults));
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
