// The question before a run. Follows player.js and widget.js in one module, whose names it uses.
// Text from Python only ever becomes textContent.

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

export default { render: (context) => render(context, predict) };
