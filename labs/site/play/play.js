// Play: a story that one takes or writes, told, played on and searched by the browser's own Python.
import playground, { Player, unpack } from "./playground.js";
import explorer from "./explorer.js";

const FIRST = "kafka/torn-read";
const WIDGETS = { play: playground, open: playground, search: explorer };
const said = JSON.parse(document.getElementById("play-words").textContent);
const form = document.getElementById("story");
const box = form.elements.text, list = form.elements.name;
const state = document.getElementById("state");
const stop = document.getElementById("stop");
const words = document.getElementById("words");
const place = document.getElementById("picture");

// `number`: of the newest request; answers to an earlier one are dropped. `waiting`: how many
// requests Python has not finished.
let worker = null, ready = false, waiting = 0, number = 0, model = null, leave = null;

/** The other end of a Python widget: its values, which change, and messages to it. */
class Model {
  constructor() {
    this.values = { ui: {} };
    this.heard = new Map();
  }
  get(name) { return this.values[name]; }
  set(name, value) {
    this.values[name] = value;
    for (const act of this.heard.get(`change:${name}`) ?? []) act();
  }
  on(event, act) { this.heard.set(event, [...(this.heard.get(event) ?? []), act]); }
  off(event, act) {
    this.heard.set(event, (this.heard.get(event) ?? []).filter((one) => one !== act));
  }
  send(message) { post({ do: "hear", message }); }
}

function say(text, failed = false) {
  state.textContent = text;
  state.classList.toggle("failed", failed);
}

function count(change) {
  waiting += change;
  document.body.classList.toggle("busy", ready && waiting > 0);
}

function post(request) {
  count(1);
  worker.postMessage({ number, ...request });
}

/** Python from its beginning; whatever it was computing is given up. */
function begin() {
  worker?.terminate();
  ready = false;
  count(-waiting);
  worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  worker.onmessage = hear;
  worker.onerror = () => say(said.missing, true);
}

function clear() {
  number += 1;
  leave?.();
  leave = null;
  place.replaceChildren();
  words.hidden = true;
}

/** Ask Python for another picture; the one that was shown goes. */
function ask(what, text) {
  if (ready && waiting) begin();
  clear();
  model = new Model();
  const mine = model;
  if (what in WIDGETS) {
    WIDGETS[what].render({ model, el: place })
      .then((end) => { if (mine === model) leave = end; else end(); });
  }
  say(ready ? "" : said.loading);
  const faults = Object.fromEntries(["kills", "breaks", "timers"].map(
    (name) => [name, Number(form.elements[name].value)]));
  post({ do: what, text, lang: document.documentElement.lang, ...faults });
}

/** What Python says: that it is ready or done, or a value by its name. */
function hear({ data }) {
  const { name, value } = data;
  if (name === "ready") {
    ready = true;
    say("");
    count(0);
  } else if (name === "done") {
    count(-1);
  } else if (name === "broken" || (name === "failed" && data.number === number)) {
    say(value, true);
  } else if (data.number === number) {
    show(name, typeof value === "string" ? JSON.parse(value) : value);
  }
}

function show(name, value) {
  if (name === "note") say(value);
  else if (name === "story") box.value = value;
  else if (name === "token") remember(value);
  else if (name === "told") tell(value);
  else if (name === "words") {
    words.hidden = false;
    words.lastElementChild.textContent = value;
  } else {
    model.set(name, value);
    if (name === "ui" && value.token) remember(value.token);
  }
}

/** The address opens this very run again, on any machine. */
function remember(token) { history.replaceState(null, "", `#${token}`); }

async function tell(bytes) {
  const mine = number, data = await unpack(bytes);
  if (mine !== number) return;
  const host = document.createElement("div");
  host.className = "mqlab";
  place.replaceChildren(host);
  const player = new Player(host, data);
  leave = () => player.stop();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask(event.submitter.value, box.value);
});
stop.addEventListener("click", () => {
  clear();
  begin();
  say(said.stopped);
  box.focus();
});

const stories = await (await fetch(new URL("stories.json", import.meta.url))).json();
const groups = Object.groupBy(Object.keys(stories), (name) => name.split("/")[0]);
for (const [label, names] of Object.entries(groups)) {
  const group = document.createElement("optgroup");
  group.label = label;
  const { lang } = document.documentElement;
  group.append(...names.map((name) => new Option(stories[name][lang], name)));
  list.append(group);
}

function take(name) {
  list.value = name;
  box.value = stories[name].commands;
  ask("tell", box.value);
}

/** The address names a story or holds a token. */
function openAddress() {
  const asked = location.hash.slice(1);
  if (asked && !Object.hasOwn(stories, asked)) ask("open", asked);
  else take(asked || FIRST);
}

list.addEventListener("change", () => take(list.value));
addEventListener("hashchange", openAddress);
begin();
openAddress();
