// The legend of a player: what the signs mean.

const CROSS = "M16 6l8 8m0-8l-8 8";
const BOX = "M8 1h24v18h-24z";
/** How each sign is drawn: the class around it, then paths with their classes. */
const SIGNS = {
  sent: ["msg sent t1", "M2 10H30", "shaft", "M38 10L28 4.5V15.5Z", "head"],
  reply: ["msg reply t1", "M2 10H30", "shaft", "M38 10L28 4.5V15.5Z", "head"],
  late: ["msg late t1", "M2 10H30", "shaft", "M2 5V15", "shaft solid", "M38 10L28 4.5V15.5Z",
    "head"],
  lost: ["msg lost", "M2 10H28", "shaft", "M23 5l10 10m0-10l-10 10", "cross"],
  block: ["t1", "M15.5 3h9v14h-9z", "block t1"],
  change: ["t1", "M14 10l6-6 6 6-6 6z", "change t1"],
  call: ["t1", "M15 4l10 6-10 6z", "call t1"],
  crash: ["", "M12 10a8 8 0 0 1 16 0a8 8 0 0 1-16 0", "disc", CROSS, "on-disc"],
  dead: ["", "M20 0V20", "life", "M20 0V20", "dead"],
  ring: ["", "M13.5 10a6.5 6.5 0 0 1 13 0a6.5 6.5 0 0 1-13 0", "ring"],
  clock: ["", "M12.5 10a7.5 7.5 0 0 1 15 0a7.5 7.5 0 0 1-15 0", "face", "M20 5.5V10h3.5",
    "hands"],
  span: ["t1", "M15.5 0h9v20h-9z", "span t1"],
  record: ["t1", BOX, "record t1"],
  diamond: ["t1", "M4 10l16-9 16 9-16 9z", "diamond"],
  hatch: ["t1", BOX, "record", "M8 10l9-9M8 19l18-18M17 19l15-15M26 19l6-6", "hatch"],
  struck: ["t1", BOX, "record", "M11 10H29", "struck"],
  money: ["", "M2 6h36v9h-36z", "money"],
  due: ["", "M2 6h36v9h-36z", "ghost", "M26 2v17", "due"],
  again: ["t1", "M8 4h24v12h-24z", "record t1", "M6.5 2.5h27v15h-27z", "again",
    "M9.5 5.5h21v9h-21z", "again"],
  passed: ["flag f2", "M2 7h24v6h-24z", "passed", "M28 3V17", "pole", "M28 3l-7 3.5l7 3.5z",
    "cloth"],
  taken: ["t1", "M4 4h32v12h-32z", "taken"],
  refused: ["t1", "M4 4h32v12h-32z", "taken", "M25 7l6 6m0-6l-6 6", "cross refused"],
  flag: ["", "M5 2h30v14h-30z", "cloth", "M5 2V20", "pole"],
};

/** A panel over the pictures, opened by `?`, closed by it or by Escape. */
class Legend {
  constructor(id, leave) {
    this.leave = leave;
    this.button = make("button", { type: "button", textContent: "?",
      onclick: () => this.toggle() });
    this.el = make("div", { className: "legend", id: `${id}-legend`, tabIndex: 0, hidden: true });
    this.el.setAttribute("role", "dialog");
    this.button.setAttribute("aria-controls", this.el.id);
    this.button.setAttribute("aria-expanded", false);
  }

  get open() { return !this.el.hidden; }

  /** Rows of a sign's class and its sentence. */
  load(rows, words) {
    this.button.hidden = !rows.length;
    this.button.title = words.legend;
    this.button.setAttribute("aria-label", words.legend);
    this.el.setAttribute("aria-label", words.legend);
    this.rows = rows;
    if (this.open) this.draw();
  }

  draw() {
    this.el.replaceChildren(make("dl", {}, ...this.rows.flatMap(([sign, text]) => [
      make("dt", {}, drawSign(sign)), make("dd", { textContent: text })])));
  }

  toggle() {
    if (this.button.hidden) return;
    this.el.hidden = !this.el.hidden;
    if (this.open) this.draw();
    this.button.setAttribute("aria-expanded", this.open);
    if (this.open) this.el.focus({ preventScroll: true }); else this.leave();
  }
}

/** A sign as the pictures have it; nothing for one that is only words. */
function drawSign(sign) {
  const svg = document.createElementNS(SVG, "svg");
  const [kind, tone = ""] = sign.split(" ");
  const [around, ...paths] = SIGNS[kind] ?? [""];
  const group = document.createElementNS(SVG, "g");
  group.setAttribute("class", around || tone);
  for (let i = 0; i < paths.length; i += 2) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", paths[i]);
    path.setAttribute("class", paths[i + 1]);
    group.append(path);
  }
  svg.setAttribute("viewBox", "0 0 40 20");
  svg.setAttribute("aria-hidden", "true");
  svg.append(group);
  return svg;
}
