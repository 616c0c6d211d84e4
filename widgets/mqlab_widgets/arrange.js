// Where panels are: in columns below each other, and behind tabs what has no room there.

const GAP = 18, BETWEEN = 12; // px between columns, and between panels of a column
const TABS = 35; // px: a row of tabs, its line and its margin
const LEFT_LEAST = 300; // px of the diagram beside the right column; it then scrolls sideways
const ROWS_LEAST = 4; // of a diagram above the outcome
const TAB_LEAST = 100; // px of a panel behind a tab below the pinned ones

/** The arrangement that shows the most: in the space that panels want, else in what two columns
 *  need, else small, else with panels behind tabs that yield. What space is left goes to what is
 *  cut. */
function arrangeBest(given, width, height, words, half) {
  const all = given.map((panel) => (panel.rows && panel.width > width && panel.small) || panel);
  const roomy = all.map((panel) => panel.wide ?? panel);
  const small = all.map((panel) => panel.small ?? panel);
  const yielding = small.map((panel) => (panel.yields ? { ...panel, pinned: false } : panel));
  const of = (panels, side) => panels.filter((panel) => panel.side === side);
  const fits = across([of(roomy, "left"), of(roomy, "right")]) <= width;
  let best = null;
  for (const panels of [...(fits ? [roomy] : []), all, small, yielding]) {
    const found = arrange(of(panels, "left"), of(panels, "right"), width, height, words, half);
    const hidden = 1e3 * hides(found.columns) + count(found.columns);
    if (!best || hidden < best.hidden) best = { ...found, hidden };
    if (!hides(found.columns) && panels !== roomy) break;
  }
  widen(best, width);
  return best;
}

const wide = (panels) => Math.max(0, ...panels.map((panel) => panel.width));

/** How wide some columns are beside each other. */
const across = (columns) => columns.filter((panels) => panels.length)
  .reduce((sum, panels) => sum + wide(panels) + GAP, -GAP);

/** The panels of a column, in sight and in its tabs. */
const within = ({ panels, groups }) => [...panels, ...groups.flatMap((group) => group.panels)];

/** How many panels are behind a tab that is not chosen. */
const count = (columns) => columns.reduce((sum, { groups }) =>
  sum + groups.slice(1).reduce((more, { panels }) => more + panels.length, 0), 0);

/** Columns with panels that want more room take what is left, one after the other. */
function widen({ left, columns }, width) {
  let spare = width - across([left, ...columns.map(within)]);
  for (const column of columns) {
    const before = wide(within(column));
    const most = before + spare;
    const grown = (panel) =>
      (panel.wide?.width <= most && panel.wide.height <= panel.height ? panel.wide : panel);
    column.panels = column.panels.map(grown);
    for (const group of column.groups) group.panels = group.panels.map(grown);
    spare -= wide(within(column)) - before;
  }
}

const tall = (panels) => panels.reduce((sum, panel) => sum + panel.height, 0)
  + BETWEEN * Math.max(0, panels.length - 1);

/** Panels in columns: each column a list of panels and, at its end, groups that are tabs. */
function arrange(left, right, width, height, words, half) {
  const one = wide(right) + GAP;
  const least = half ? wide(left) : Math.min(wide(left), LEFT_LEAST);
  if (left.length && right.length && width < least + one) {
    const groups = half && below(left, right, height)
      || [...alone(left), ...behind(right, height, words)];
    return { left: [], columns: [{ panels: [], groups }] };
  }
  const columns = wide(left) + 2 * one <= width + GAP * !left.length ? 2 : 1;
  return { left, columns: right.length ? stack(right, columns, height, words) : [] };
}

/** Behind the first tab the diagram and, below it, as much of the outcome as leaves it some rows;
 *  nothing where that is not possible. */
function below([diagram], right, height) {
  const { head, edge, row } = diagram.rows;
  const least = (head + edge + ROWS_LEAST * row) * diagram.panel.scale;
  const small = right.map((panel) => panel.small ?? panel);
  const outcome = [];
  for (const panel of small.filter(({ pinned, yields }) => pinned && !yields)) {
    if (least + BETWEEN + tall([...outcome, panel]) <= height - TABS) outcome.push(panel);
  }
  if (!outcome.length) return null;
  const [group] = alone([diagram]);
  group.panels.push(...outcome);
  return [group, ...alone(right.filter(({ base }) => !outcome.some((one) => one.base === base)))];
}

/** Every panel behind a tab of its own. */
const alone = (panels) =>
  panels.map((panel) => ({ name: panel.base, title: panel.tab, panels: [panel] }));

/** As many panels in sight as the height allows, in one column or two. */
function stack(panels, columns, height, words) {
  const pinned = panels.filter((panel) => panel.pinned);
  const rest = panels.filter((panel) => !panel.pinned);
  const both = columns === 2 && panels.length > 2 && halve(panels);
  if (both && tall(both[0]) <= height && tall(both[1]) <= height) {
    return both.map((part) => ({ panels: part, groups: [] }));
  }
  if (tall(panels) <= height) return [{ panels, groups: [] }];
  if (columns === 2 && pinned.length && rest.length && tall(pinned) <= height) {
    return [{ panels: pinned, groups: [] }, { panels: [], groups: alone(rest) }];
  }
  const left = height - tall(pinned) - BETWEEN - TABS;
  const need = Math.min(TAB_LEAST, ...rest.map((panel) => panel.height));
  if (rest.length && left >= need) return [{ panels: pinned, groups: alone(rest) }];
  return [{ panels: [], groups: behind(panels, height, words) }];
}

/** All of them behind tabs: the pinned ones behind one of them, if they fit there. */
function behind(panels, height, words) {
  const pinned = panels.filter((panel) => panel.pinned);
  if (pinned.length < 2 || tall(pinned) > height - TABS) return alone(panels);
  const now = { name: "now", title: words.now, panels: pinned };
  return [now, ...alone(panels.filter((panel) => !panel.pinned))];
}

/** If what should stay in sight is spread over several tabs. */
const hides = (columns) => columns.some(({ groups }) => groups.filter(({ panels }) =>
  panels.some((panel) => panel.pinned && panel.side === "right")).length > 1);

/** Two columns, in order, as equally tall as they can be. */
function halve(panels) {
  const cuts = panels.slice(1).map((_, i) => [panels.slice(0, i + 1), panels.slice(i + 1)]);
  const most = (parts) => Math.max(...parts.map(tall));
  return cuts.reduce((best, parts) => (most(parts) < most(best) ? parts : best));
}

/** Tabs as ARIA has them: one stop of the Tab key, arrows, Home and End between them. */
class Tabs {
  constructor(id, title, groups, chosen, choose) {
    this.groups = groups;
    this.choose = choose;
    this.buttons = groups.map(({ name, title: text }, i) => make("button", {
      type: "button", id: `${id}-tab-${name}`, textContent: text, onclick: () => this.pick(i) }));
    this.boxes = groups.map(({ name, panels }, i) => {
      const box = make("div", { className: "tabpanel", id: `${id}-box-${name}`, tabIndex: 0 },
        ...panels.map((panel) => panel.el));
      box.setAttribute("role", "tabpanel");
      box.setAttribute("aria-labelledby", this.buttons[i].id);
      this.buttons[i].setAttribute("role", "tab");
      this.buttons[i].setAttribute("aria-controls", box.id);
      return box;
    });
    const list = make("div", { className: "tabs" }, ...this.buttons);
    list.setAttribute("role", "tablist");
    list.setAttribute("aria-label", title);
    list.addEventListener("keydown", (event) => this.key(event));
    this.el = make("div", { className: "tabbed" }, list, ...this.boxes);
    this.show(Math.max(0, groups.findIndex(({ name }) => name === chosen)));
  }

  show(index) {
    this.chosen = index;
    this.buttons.forEach((button, i) => {
      button.setAttribute("aria-selected", i === index);
      button.tabIndex = i === index ? 0 : -1;
      this.boxes[i].hidden = i !== index;
    });
    this.groups.forEach(({ panels }, i) => {
      for (const panel of panels) panel.visible = i === index;
    });
  }

  pick(index) {
    this.show(index);
    this.choose(this.groups[index].name);
  }

  key(event) {
    const last = this.buttons.length - 1;
    const to = { ArrowRight: this.chosen === last ? 0 : this.chosen + 1,
      ArrowLeft: this.chosen === 0 ? last : this.chosen - 1, Home: 0, End: last }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.pick(to);
    this.buttons[to].focus();
  }

  /** Mark the tabs in which something is new since the step before. */
  mark(before, step, words) {
    this.groups.forEach(({ title, panels }, i) => {
      const news = i !== this.chosen && panels.some((panel) => panel.panel.isNew(before, step));
      const button = this.buttons[i];
      button.classList.toggle("news", news);
      button.title = news ? words.news : "";
      button.setAttribute("aria-label", news ? `${title}: ${words.news}` : title);
    });
  }
}
