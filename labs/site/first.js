// The picture of the first page: plays the steps of a run at the pace at which one reads them.

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const { nodes, kills } = read("first-data"), said = read("first-words");
const root = document.querySelector(".first");
const svg = root.querySelector(".drawn svg");
const still = matchMedia("(prefers-reduced-motion: reduce)");
const ROW = 31, HEAD = 44; // px between steps, and above the first one
const WORD_MS = 250, LEAST_MS = 1500; // 240 words a minute
const CHINESE = /[\u3400-\u9fff]/g, CHARACTERS = 1.7; // of a word
const LATIN = /[^\s\u2018-\u201f\u3000-\uffef]+/g;
/** How many words a text is as long to read as. */
const count = (text) =>
  (text.match(LATIN) ?? []).length + (text.match(CHINESE) ?? []).length / CHARACTERS;
/** How many rows these steps take: one for each mark. */
const rows = (steps) => steps.reduce((sum, { marks }) => sum + marks.length, 0);
const most = Math.max(...kills.map(({ steps }) => rows(steps)));
let kill = kills.findIndex(({ chosen }) => chosen), at = 0, timer = 0;

function add(tag, attributes, text) {
  const el = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) el.setAttribute(name, value);
  if (text) el.textContent = text;
  svg.append(el);
  return el;
}

/** Where the parties stand: wide enough for their names, narrower on a phone. */
function places() {
  const narrow = svg.clientWidth < 560;
  const width = narrow ? 440 : 680, edge = narrow ? 56 : 80;
  const between = (width - 2 * edge) / (nodes.length - 1);
  return { width, x: new Map(nodes.map(([name], i) => [name, edge + i * between])), narrow };
}

function draw() {
  const steps = kills[kill].steps;
  const { width, x, narrow } = places();
  const bottom = HEAD + most * ROW;
  svg.setAttribute("viewBox", `0 0 ${width} ${bottom + 6}`);
  while (svg.lastChild.nodeName !== "title") svg.lastChild.remove();
  const old = rows(steps.slice(0, at)), shown = steps.slice(0, at + 1).flatMap(({ marks }) => marks);
  add("rect", { class: "now", x: 4, width: width - 8, y: HEAD + old * ROW,
    height: (shown.length - old) * ROW, rx: 6 });
  const died = shown.findIndex(({ kind }) => kind === "dies");
  const back = shown.findIndex(({ kind }, i) => died >= 0 && i > died && kind === "box");
  for (const [name, title] of nodes) {
    const lines = narrow ? title.split(" ") : [title];
    lines.forEach((line, i) => add("text", { class: "name", x: x.get(name),
      y: HEAD - 12 - 16 * (lines.length - 1 - i) }, line));
    const life = (from, to, more = "") => add("line", { class: `life ${more}`,
      x1: x.get(name), x2: x.get(name), y1: HEAD + from * ROW, y2: HEAD + to * ROW });
    if (name !== "coordinator" || died < 0) { life(0, most); continue; }
    life(0, died + 0.5);
    life(died + 0.5, back < 0 ? most : back + 0.5, "dead");
    if (back >= 0) life(back + 0.5, most);
  }
  shown.forEach((mark, i) => drawMark(mark, HEAD + (i + 0.5) * ROW, x, i >= old));
}

function drawMark({ kind, at: place, from, to, words }, y, x, isNew) {
  const says = `words ${isNew ? "new" : ""}`;
  if (kind === "dies") {
    add("circle", { class: "cross", cx: x.get(place), cy: y, r: 13 });
    add("path", { class: "x", d: `M${x.get(place) - 5} ${y - 5}l10 10m0 -10l-10 10` });
    add("text", { class: "dies", x: x.get(place) + 22, y: y + 5 }, words);
  } else if (kind === "box") {
    add("rect", { class: "box", x: x.get(place) - 9, y: y - 11, width: 18, height: 22 });
    add("text", { class: says, x: x.get(place) + 18, y: y + 5 }, words);
  } else {
    const [a, b] = [x.get(from), x.get(to)], way = Math.sign(b - a);
    const line = add("line", { class: `arrow ${kind}`, x1: a + 6 * way, x2: b - 14 * way, y1: y, y2: y });
    const tip = add("path", { class: "tip", d: `M${b - 4 * way} ${y}l${-11 * way} -6v12z` });
    const middle = [...x.values()].sort((p, q) => p - q).filter((p) => p >= Math.min(a, b));
    add("text", { class: `${says} mid`, x: (middle[0] + middle[1]) / 2, y: y + 5 }, words);
    if (isNew && !still.matches) {
      const ms = { duration: 500, easing: "ease-out" };
      line.animate([{ transform: `translateX(${a}px) scaleX(0) translateX(${-a}px)` },
        { transform: "none" }], ms);
      tip.animate([{ transform: `translateX(${a - b}px)` }, { transform: "none" }], ms);
    }
  }
}

function show() {
  const { steps } = kills[kill], { caption, note, visible, way } = steps[at];
  root.querySelector(".caption").textContent = caption;
  root.querySelector(".note").textContent = note;
  document.getElementById("where").textContent = said.where
    .replace("{at}", at + 1).replace("{all}", steps.length);
  for (const half of root.querySelectorAll(".half")) {
    const seen = visible.includes(half.dataset.log);
    half.classList.toggle("seen", seen);
    half.nextElementSibling.textContent = seen ? said.seen : visible.length ? said.half : said.hidden;
  }
  const bar = root.querySelector(".bar");
  bar.classList.toggle("open", way > 0);
  bar.setAttribute("aria-label", way > 0 ? said.way.replace("{way}", way / 100) : said.arrived);
  draw();
}

function play(on) {
  clearTimeout(timer);
  const button = root.querySelector("[data-go=play]");
  button.textContent = on ? "❚❚" : "▶";
  button.setAttribute("aria-label", on ? said.pause : said.play);
  timer = 0;
  if (!on) return;
  const { caption, note } = kills[kill].steps[at];
  const words = count(`${caption} ${note}`);
  timer = setTimeout(() => {
    if (at + 1 === kills[kill].steps.length) { play(false); return; }
    at += 1;
    show();
    play(true);
  }, Math.max(LEAST_MS, words * WORD_MS));
}

function go(to) {
  play(false);
  at = Math.min(Math.max(to, 0), kills[kill].steps.length - 1);
  show();
}

root.querySelector("[data-go=back]").onclick = () => go(at - 1);
root.querySelector("[data-go=on]").onclick = () => go(at + 1);
root.querySelector("[data-go=play]").onclick = () => {
  if (timer) { play(false); return; }
  if (at + 1 === kills[kill].steps.length) at = 0;
  show();
  play(true);
};
for (const input of root.querySelectorAll("[name=kill]")) {
  input.onchange = () => {
    kill = Number(input.value);
    at = 0;
    if (still.matches) go(kills[kill].steps.length - 1);
    else { show(); play(true); }
  };
}
new ResizeObserver(draw).observe(svg);
if (still.matches) go(kills[kill].steps.findIndex(({ way }) => way > 0));
else { show(); play(true); }
