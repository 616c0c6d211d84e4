// Runs side by side on one slider: two futures of a play (a playground), or two to four systems on
// one clock (`Compare`). Follows player.js in one module. The player that was there first has the
// controls; the others follow it, step by step.

const ROOM = 640; // px that two pictures ask for; where there is less, one covers the other

/** Another picture, and what marks the differences of the two. `before`: the one before it, another
 *  Beside where there are `many`; then each is in sight, wherever it has room. */
class Beside {
  constructor(player, words, before = null, many = false) {
    this.player = player;
    this.words = words;
    this.many = many;
    this.host = make("div", { className: "mqlab twin", hidden: true });
    this.twin = null;
    (before ?? player).host.after(this.host);
    this.note = make("div", { className: "compared", textContent: words.differs, hidden: true });
    if (!before) player.body.append(this.note);
    // Both of them are in sight or none is: one alone does not go over the whole window.
    player.enlarge = () => (this.on ? null : Player.prototype.enlarge.call(player));
    this.host.addEventListener("keydown", (event) => player.key(event));
  }

  get on() { return Boolean(this.compared); }

  /** The same of a widget: `bytes` is the second trace, packed. */
  async load(compared, bytes) {
    this.show(compared, compared && bytes.byteLength ? await unpack(bytes) : null);
  }

  /** `compared`: which `rows` differ, of the first and of the second, and (two traces that have no
   *  more in common than a clock) at which `places` each is when the other is at a step; `data`:
   *  the second trace, null for none. */
  show(compared, data) {
    this.compared = data ? compared : null;
    const { host } = this.player;
    this.host.hidden = this.note.hidden = !data;
    host.parentElement.classList.toggle("mqlab-pair", Boolean(data));
    const runs = host.parentElement.querySelectorAll(":scope > .mqlab").length;
    host.parentElement.classList.toggle("mqlab-many", Boolean(data && this.many));
    host.parentElement.classList.toggle("four", Boolean(data && this.many) && runs === 4);
    host.classList.toggle("first", Boolean(data));
    if (!data) { this.unmark(); this.turn(0); return; }
    if (this.twin) this.twin.load(data, data.meta.step);
    else this.start(data);
    this.fit();
    this.follow();
  }

  start(data) {
    this.twin = new Player(this.host, data, true);
    this.twin.levels.remove();
    this.player.buttons.speed.after(this.player.levels); // one switch for all
    this.host.tabIndex = -1;
    // A playground has its futures there.
    if (!this.compared.places) {
      this.twin.body.querySelector(".bottom").before(make("div", { className: "branches" }));
    }
    // What it says of both is said once; the room for it keeps the two at the same height.
    const once = this.compared.places ? " once" : "";
    this.twin.body.append(
      make("div", { className: `compared${once}`, textContent: this.words.differs }));
    // A click on one of its rows moves both; what has no place yet is not clicked.
    this.twin.go = (step) =>
      this.twin.stage.was && this.player.go(this.opposite(step, this.twin, this.player));
    this.twin.drawn = () => { if (this.on) { this.align(); this.mark(); } };
    this.swaps = [this.player, this.twin].map(({ host }, i) => {
      const swap = make("button", { type: "button", className: "link swap" });
      swap.onclick = () => { this.turn(1 - i); this.swaps[1 - i].focus({ preventScroll: true }); };
      host.querySelector(".top .count").before(swap);
      return swap;
    });
    new ResizeObserver(() => this.fit()).observe(this.host.parentElement);
  }

  /** Both in sight, or where they have no room, one of them and a button that shows the other. */
  fit() {
    if (!this.on) return;
    this.tight = !this.many && this.host.parentElement.clientWidth < ROOM;
    this.turn(this.tight ? this.front ?? 0 : 0);
    [this.twin, this.player].forEach(({ data }, i) => {
      this.swaps[i].textContent = `⇄ ${data.meta.title}`;
      this.swaps[i].title = data.meta.title;
    });
  }

  /** `front`: which of the two is seen where there is room for one. */
  turn(front) {
    const tight = Boolean(this.on && this.tight);
    this.front = front;
    this.host.parentElement.classList.toggle("tight", tight);
    [this.player.host, this.host].forEach((host, i) =>
      host.classList.toggle("behind", tight && i !== front));
    const { language } = this.player, place = (front ? this.twin : this.player).legend.button;
    if (language && language.nextSibling !== place) place.before(language);
  }

  /** The position of one player that has as many facts before it as that of the other, or that is
   *  as late by their clock. */
  opposite(step, from, to) {
    const { places } = this.compared;
    if (places) return places[from === this.player ? 0 : 1][step];
    const first = ({ data }) => data.meta.facts[0]?.index ?? 1;
    return Math.max(0, Math.min(step + first(from) - first(to), to.end));
  }

  /** The other picture in the state of the first: its step, what is folded, its tab. */
  follow() {
    const { player, twin } = this;
    if (!this.on || player.step < 0) return;
    if (twin.level !== player.level) twin.choose(player.level);
    if (twin.unfolded !== player.unfolded) {
      twin.unfolded = player.unfolded;
      twin.arrange();
    }
    player.stage.tabs.forEach(({ groups, chosen }, i) => {
      const tabs = twin.stage.tabs[i];
      const at = tabs?.groups.findIndex(({ name }) => name === groups[chosen].name) ?? -1;
      if (at >= 0 && at !== tabs.chosen) tabs.pick(at);
    });
    twin.draw(this.opposite(player.step, player, twin));
  }

  /** Both are equally tall, and both diagrams show equally many rows, so that the same step is at
   *  the same height. */
  align() {
    if (this.tight) return;
    const players = [this.player, this.twin];
    if (!this.many) {
      const high = Math.max(...players.map(({ stage }) => stage.used));
      for (const { stage } of players) stage.el.style.height = `${high}px`;
    }
    const both = players.map(({ shown }) => shown.find((p) => p.rows && p.visible)?.rows);
    if (!both.every(Boolean)) return;
    const count = Math.max(...both.map((rows) => rows.count));
    const seen = Math.min(count, ...both.map((rows) => rows.fits));
    both.forEach((rows, i) => {
      Object.assign(rows, { count, seen });
      rows.panel.resize(rows.head + rows.edge + seen * rows.row);
      rows.seek(players[i].step);
    });
  }

  mark() {
    const { player, twin } = this;
    if (!this.compared.rows) return;
    [[player, twin], [twin, player]].forEach(([one, other], side) => {
      if (this.many && !side) return; // the first differs from each in something else
      const rows = new Set(this.compared.rows[side].map((row) => `row:${row}`));
      for (const { base, panel, visible } of one.shown) {
        if (!visible) continue;
        const there = other.shown.find((p) => p.base === base)?.panel;
        const others = there?.drawn ?? new Map();
        for (const [key, element] of panel.drawn) {
          const differs = key.startsWith("row:") ? rows.has(key)
            : base !== "space-time" && LEAVES.has(element.tag) && isOther(element, others.get(key));
          element.el.classList.toggle("differs", differs);
        }
      }
    });
  }

  unmark() {
    for (const el of this.player.host.querySelectorAll(".differs")) el.classList.remove("differs");
  }
}

const LEAVES = new Set(["text", "rect", "path", "circle", "line"]);

/** A player's payload has others beside it: all play, on one clock. */
async function compareRuns(mounted) {
  const player = await mounted;
  const { others, words } = player.data.beside;
  const all = [];
  for (const _ of others) all.push(new Beside(player, words, all.at(-1), others.length > 1));
  const show = () => all.forEach((beside, i) => {
    const other = player.data.beside.others[i];
    beside.show(other, other.data);
  });
  player.drawn = () => { for (const beside of all) beside.follow(); };
  player.translated = () => {
    show();
    const { differs } = player.data.beside.words;
    for (const el of player.host.parentElement.querySelectorAll(".compared")) say(el, differs);
    document.title = [player, ...all.map(({ twin }) => twin)]
      .map(({ data }) => data.meta.title).join(" · ");
  };
  show();
}

/** If an element is not there in the other picture, or says something else, or looks otherwise. */
function isOther(element, there) {
  const look = ({ now }) => (now.class ?? "").replace(/ ?\bfresh\b/, "");
  return !there || element.now["#"] !== there.now["#"] || look(element) !== look(there);
}
