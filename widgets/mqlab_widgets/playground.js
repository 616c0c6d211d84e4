// The actions of a playground. Follows player.js and widget.js in one module, whose names it uses.
// Text from Python only ever becomes textContent.

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

export default { render: (context) => render(context, playground) };
