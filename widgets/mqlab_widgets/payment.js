// The first playground: one payment, of which the reader decides what happens next. It needs no
// kernel: every state that can be reached is in its data. Text only ever becomes textContent.

const LOST = 3, BAD = [LOST, 4, 6]; // what a state means, as in mqlab/lessons/payment.py
const STEP = 22; // px between two dots of the tree

/** Draws the playground into `root`, and again after each choice. */
function mountPayment(root, { systems, searched, moves, means, words, onward }) {
  let name, tree, way; // `way`: the nodes of the tree from its root to where one is
  const won = new Set(), ended = new Set();

  function element(tag, fields, ...children) {
    const made = Object.assign(document.createElement(tag), fields);
    made.append(...children.filter(Boolean));
    return made;
  }
  const press = (textContent, className, onclick) =>
    element("button", { type: "button", textContent, className, onclick });
  const tool = (text, there, onclick) =>
    Object.assign(press(text, "", onclick), { disabled: !there });
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, key) => values[key]);
  const pounds = (pence) => (pence / 100).toFixed(2);
  const state = () => systems[name].states[way.at(-1).to];
  const isBad = (mark) => BAD.includes(mark);
  const isCalm = ([move]) => ["call", "arrive", "hear", "wait"].includes(moves[move][2]);

  function choose(system) {
    name = system;
    way = [tree = { to: 0, children: new Map() }];
    draw();
  }

  function step([move, to]) {
    const from = way.at(-1);
    if (!from.children.has(move)) from.children.set(move, { move, to, children: new Map() });
    way = [...way, from.children.get(move)];
    if (state()[6] === systems[name].aim) won.add(name);
    if (!state()[7].some(isCalm)) ended.add(name);
  }

  function go(nodes) {
    way = nodes;
    draw();
  }

  /** All that happens by itself, without a fault. */
  function letRun() {
    for (let next; (next = state()[7].find(isCalm));) step(next);
    draw(true);
  }

  /** `acted`: what was just reached comes into sight. A cell that is run again goes on here. */
  function draw(acted = false) {
    window.mqlabPayment = [name, way.slice(1).map(({ move, to }) => [move, to])];
    const focused = root.contains(document.activeElement) ? document.activeElement : null;
    const [up, customer, shop, decided, paid, got, mark, ahead] = state();
    const place = (at, ...inside) => element("section", { className: `card ${at}` },
      element("h3", { textContent: words.places[at] }), ...inside);
    const choices = (at) => ahead.filter(([move]) => moves[move][3] === at).map((next) => {
      const [, act, kind] = moves[next[0]];
      return press(act, kind, () => { step(next); draw(true); });
    });
    const arrivals = (at) => element("div", { className: `way ${at}` }, ...choices(at));
    const account = (at, records) => place(at, element("ul", {}, ...records.map((seen) =>
      element("li", { className: ["seen", "unseen", "void"][seen] },
        element("b", { textContent: words.amounts[at] }), ` ${words.seen[seen]}`))));
    const sum = pounds(paid - got), lost = isBad(mark);
    const lacks = paid > got ? fill(words.lacks[Number(lost)], { sum }) : "";
    const meaning = element("p", { textContent: means[mark],
      className: `meaning ${isBad(mark) ? "bad" : ""}` });
    meaning.setAttribute("aria-live", "polite");
    root.replaceChildren(
      element("div", { className: "switch", role: "group", ariaLabel: words.which },
        ...Object.keys(systems).map((one) => {
          const made = press(words.systems[one], "", () => choose(one));
          made.ariaPressed = String(one === name);
          return made;
        })),
      element("h2", { className: "task",
        textContent: words.tasks[name !== "plain" && ended.has(name) ? "after" : name] }),
      element("div", { className: `board ${name}` },
        place("service", element("p", { className: up ? "" : "bad",
          textContent: words.service[up] }), ...choices("service")),
        element("p", { className: "frame", textContent: words.places.frame }),
        arrivals("customer"), account("customer", customer),
        arrivals("shop"), account("shop", shop),
        ...(name === "plain" ? [] : [arrivals("broker"),
          place("broker", element("p", { textContent: words.decided[decided] }))])),
      meaning,
      element("p", { className: "sum" }, `${words.reader} `,
        element("span", { textContent: fill(words.paid, { sum: pounds(paid) }) }),
        element("span", { textContent: fill(words.got, { sum: pounds(got) }) }),
        element("b", { className: lost ? "bad" : "open", textContent: lacks })),
      element("div", { className: "tools" }, tool(words.run, ahead.some(isCalm), letRun),
        tool(words.undo, way.length > 1, () => go(way.slice(0, -1))),
        tool(words.again, way.length > 1, () => go([tree]))),
      tell(mark), drawTree(),
      element("ol", { className: "told", ariaLabel: words.told }, ...way.slice(1).map(({ move }) =>
        element("li", { textContent: moves[move][0] }))));
    const told = root.querySelector(".told");
    told.tabIndex = 0; // it scrolls
    told.scrollTop = told.scrollHeight;
    if (focused) keepFocus(focused);
    const reached = acted && (root.querySelector(".won") ?? (isBad(mark) && meaning));
    if (reached) reached.scrollIntoView({ block: "nearest" });
  }

  /** The focus stays on the same button, or goes to the first thing that may happen now. */
  function keepFocus({ textContent }) {
    const buttons = [...root.querySelectorAll("button")];
    const same = buttons.find((one) => !one.disabled && textContent
      && one.textContent === textContent);
    (same ?? root.querySelector(".board button") ?? buttons.at(-1)).focus();
  }

  /** What was reached, and what to try next. */
  function tell(mark) {
    const { aim, least } = systems[name];
    const box = element("div", { className: "result" });
    box.setAttribute("aria-live", "polite");
    const made = { made: way.length - 1, least, searched: searched.toLocaleString("en") };
    const say = (text, className = "") =>
      box.append(element("p", { className, textContent: fill(text, made) }));
    if (mark === aim) say(words.won[name], "won");
    else if (name === "transaction" && ended.has(name)) {
      say(`${words.searched} ${state()[7].some(isCalm) ? "" : words.retry}`);
    }
    if (name === "transaction" && won.has(name) && onward) {
      box.append(element("a", { className: "next", href: onward, textContent: words.onward }));
    }
    if (name === "plain" && won.has(name)) {
      box.append(press(words.next, "next", () => {
        choose("transaction");
        root.querySelector(".task").scrollIntoView({ block: "nearest" });
      }));
    }
    return box;
  }

  /** The futures that were tried: a dot for each choice, a row for each branch. */
  function drawTree() {
    const svg = (tag, fields, ...children) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [key, value] of Object.entries(fields)) made.setAttribute(key, value);
      made.append(...children);
      return made;
    };
    const lines = [], dots = [];
    let rows = 0, wide = 0;
    const place = (path, row) => {
      const [x, y] = [path.length * STEP - STEP / 2, row * STEP + STEP / 2];
      wide = Math.max(wide, x);
      let at = row;
      for (const child of path.at(-1).children.values()) {
        if (at !== row || child !== [...path.at(-1).children.values()][0]) at = rows += 1;
        lines.push(svg("path", { d: `M${x} ${y}V${at * STEP + STEP / 2}H${x + STEP}` }));
        place([...path, child], at);
      }
      const node = path.at(-1), mark = systems[name].states[node.to][6];
      const [said, , kind] = moves[node.move] ?? [words.begin, "", ""];
      const text = `${path.length - 1}. ${said}`;
      const dot = svg("circle", { cx: x, cy: y, r: 7, tabindex: 0, role: "button",
        "aria-label": `${text} ${means[mark]}`,
        class: `dot ${kind} ${isBad(mark) ? "bad" : ""} ${way.includes(node) ? "on" : ""} ${
          node === way.at(-1) ? "now" : ""}` }, svg("title", {}, text));
      dot.onclick = () => go(path);
      dot.onkeydown = (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); go(path); }
      };
      dots.unshift(dot);
    };
    place([tree], 0);
    return element("div", { className: "tree", role: "group", ariaLabel: words.tree },
      svg("svg", { width: wide + STEP, height: (rows + 1) * STEP }, ...lines, ...dots));
  }

  root.classList.add("payment");
  const [before = "plain", made = []] = window.mqlabPayment ?? [];
  choose(before);
  made.forEach(step);
  if (made.length) draw();
}
