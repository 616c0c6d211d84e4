// What the widgets share. Follows player.js in one module: `make`, `Player` and `unpack` are that
// file's. Text from Python only ever becomes textContent.

/** Until Python has said what there is to show. A widget is opened before it is filled, and on a
 *  machine that is busy it may be asked for in between. */
const filled = (model) => new Promise((resolve) => {
  const look = () => {
    if (!Object.keys(model.get("ui")).length) return;
    model.off("change:ui", look);
    resolve();
  };
  model.on("change:ui", look);
  look();
});

/** A widget's payload, as `unpack` takes it. */
function bytesOf(model) {
  const view = model.get("payload");
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

/** A widget: the same player around a payload that Python renews, with what it may ask. */
async function render({ model, el }, build) {
  await filled(model);
  const ui = model.get("ui");
  hideStill(ui.still);
  const host = make("div", { className: "mqlab" });
  el.append(host);
  const fresh = () => unpack(bytesOf(model));
  const has = (model.get("payload")?.byteLength ?? 0) > 0;
  const player = has ? new Player(host, await fresh(), true) : null;
  if (!has) host.lang = ui.lang;
  const update = build(model, host, player);
  let newest = 0;
  const renew = async () => {
    const mine = ++newest;
    const data = await fresh();
    if (mine !== newest) return;
    const tail = player.current >= player.end;
    // A reader who looks back at an earlier step of a followed run is left there.
    const kept = data.meta.facts.findIndex((fact) => fact.index === player.index) + 1;
    // The same trace with its past drawn: the reader stays where she is, or wants to be.
    const same = data.meta.run && data.meta.run === player.data.meta.run;
    if (same) player.load(data, player.current);
    else player.load(data, ui.kind === "follow" && !tail ? kept : data.meta.step);
  };
  model.on("change:payload", renew);
  model.on("change:ui", update);
  update();
  bringIn(host);
  return () => {
    player?.stop();
    model.off("change:payload", renew);
    model.off("change:ui", update);
  };
}

/** The still in the output before replaces the widget only where there is none. */
function hideStill(id) {
  for (const still of document.querySelectorAll(`[data-still="${id}"]`)) {
    (still.closest(".jp-OutputArea-child") ?? still).style.display = "none";
  }
}

/** Tell Python what the reader has set, at once. `save_changes` holds a change back until the
 *  kernel has answered an earlier one, and a cell that is run meanwhile would judge that one. */
function tell(model, traits) {
  for (const [name, value] of Object.entries(traits)) model.set(name, value);
  model.send({ type: "set", traits });
}

const button = (text, act, props = {}) =>
  make("button", { type: "button", textContent: text, onclick: act, ...props });
