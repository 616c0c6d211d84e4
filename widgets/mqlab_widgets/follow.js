// What is below a followed trace: what waits at the server's gate, its lanes, which one may hide,
// the switch for what is no news, where the facts come from. Follows player.js, widget.js and
// acts.js in one module, whose names it uses. Text from Python only ever becomes textContent.

function follow(model, host, player) {
  const lanes = make("div", { className: "lanes" });
  lanes.setAttribute("role", "group");
  const ask = () => choose(model.get("ui").hidden, box.checked);
  const box = make("input", { type: "checkbox", onchange: ask });
  const word = make("span");
  const status = make("div", { className: "status" });
  status.setAttribute("role", "status");
  host.classList.add("followed");
  const gate = model.get("ui").holds && player ? showHeld(model, host, player) : null;
  host.append(make("div", { className: "follow" }, lanes, make("label", {}, box, word)), status);
  const choose = (hidden, everything) => model.send({ type: "choose", hidden, everything });
  const toggle = (name) => {
    const { hidden, everything } = model.get("ui");
    const others = hidden.filter((other) => other !== name);
    choose(hidden.includes(name) ? others : [...hidden, name], everything);
  };
  player?.stage.el.addEventListener("click", (event) => {
    const head = laneOf(event.target);
    if (head) toggle(head);
  });
  let drawn = "";
  return () => {
    const ui = model.get("ui");
    status.textContent = ui.status;
    status.classList.toggle("failed", ui.failed);
    box.checked = ui.everything;
    word.textContent = ui.words.everything;
    lanes.setAttribute("aria-label", ui.words.lanes);
    gate?.(ui);
    const now = JSON.stringify([ui.lanes, ui.hidden]);
    if (now === drawn) return;
    drawn = now;
    // A reader who has come to a button with the keyboard stays there.
    const at = [...lanes.children].findIndex((el) => el === document.activeElement);
    lanes.replaceChildren(...ui.lanes.map((name) => {
      const el = button(name, () => toggle(name));
      el.setAttribute("aria-pressed", !ui.hidden.includes(name));
      return el;
    }));
    lanes.children[at]?.focus();
  };
}

/** What waits at the server's gate: an area on each message, and its choices as buttons. */
function showHeld(model, host, player) {
  const { words } = model.get("ui");
  const send = (message) => model.send(message);
  const areas = new Areas(player, words, send);
  player.drawn = () => areas.place();
  const groups = make("div", { className: "groups" });
  host.append(make("div", { className: "acts gate" }, groups));
  let drawn;
  return (ui) => {
    areas.load(ui);
    const now = JSON.stringify(ui.areas);
    if (now === drawn) return;
    drawn = now;
    const at = [...groups.querySelectorAll("button")].indexOf(document.activeElement);
    groups.replaceChildren(...ui.areas.map(({ title, items }) => make("fieldset", {},
      make("legend", { textContent: title }),
      make("div", { className: "choices" }, ...items.map(({ choice, short, label, kind }) =>
        button(short, () => send({ type: "do", choice }), { title: label, className: kind }))))));
    if (!ui.areas.length) groups.append(make("div", { textContent: words.nobody }));
    if (at >= 0) (groups.querySelectorAll("button")[at] ?? host).focus({ preventScroll: true });
  };
}

/** The lane whose head was clicked, "" for anything else. */
function laneOf(target) {
  for (let el = target; el?.mqlabKey !== undefined; el = el.parentNode) {
    if (el.mqlabKey.startsWith("head:")) return el.mqlabKey.slice(5);
  }
  return "";
}

export default { render: (context) => render(context, follow) };
