// A lecture: the player over the whole window, as large as it goes, what is to come hidden. Follows
// player.js in one module, whose names it uses. Text from Python only ever becomes textContent.

// The room that a lecture gives a picture, in px at scale 1: so little that its texts have 24 px on
// a projector of 1920×1080. What has no space there is in a tab.
const ROOM = { width: 850, height: 515 };

/** A trace in scenes with captions, and the keys of a lecture. */
class Lecture {
  constructor(player) {
    this.player = player;
    this.wanted = player.data.meta.scale;
    this.frame();
    this.read();
    this.watch();
    this.fit();
    player.host.focus({ preventScroll: true });
  }

  /** What the payload says of the lecture, in its language. */
  read() {
    const { player } = this, { lecture, words } = player.data.meta;
    this.story = lecture.story;
    this.following = lecture.following;
    this.after = lecture.after;
    this.black.setAttribute("aria-label", words.black);
    // A scene ends at its last row: what is folded away is no place to stop at.
    let before = 0;
    this.scenes = lecture.scenes.flatMap(([end, caption]) => {
      const from = before;
      before = end;
      while (end > from && player.hides(end)) end--;
      return end > from ? [{ end, caption }] : [];
    });
  }

  frame() {
    const { host } = this.player;
    host.classList.add("veiled", "lecture");
    host.parentElement.classList.add("filled");
    this.number = make("span", { className: "number" });
    this.text = make("span", { className: "text" });
    this.caption = make("div", { className: "caption" }, this.number, this.text);
    this.caption.setAttribute("aria-live", "polite");
    host.querySelector(".top").after(this.caption);
    this.black = make("div", { className: "black", hidden: true, tabIndex: -1,
      onclick: () => this.darken(false) });
    this.black.setAttribute("role", "img");
    document.body.append(this.black);
  }

  /** As large as the window allows, and no panel cut; the picture keeps its step. */
  fit() {
    const { player } = this;
    const step = Math.max(player.current, 0);
    let scale = this.wanted * Math.min(innerWidth / ROOM.width, innerHeight / ROOM.height);
    for (let tries = 0; tries < 3; tries++) {
      player.data.meta.scale = scale;
      player.host.style.setProperty("--scale", scale);
      this.keepRoom();
      player.load(player.data, step);
      player.draw(step);
      player.stage.fit();
      const over = Math.max(player.host.offsetHeight - innerHeight, player.stage.cut);
      if (over <= 0) break;
      scale *= (innerHeight - 1) / (innerHeight + over);
    }
  }

  watch() {
    const { player } = this;
    const draw = player.draw.bind(player);
    player.draw = (...how) => { draw(...how); this.tell(); };
    const stop = player.stop.bind(player);
    player.stop = () => { stop(); player.limit = Infinity; };
    player.translated = () => { this.read(); this.fit(); };
    addEventListener("resize", () => this.fit());
    document.addEventListener("keydown", (event) => this.key(event), true);
  }

  /** The scene that a step belongs to, or the last one that is over; -1 before the first. */
  at(step) {
    if (this.after) return this.scenes.findLastIndex(({ end }) => end <= step);
    return step ? this.scenes.findIndex(({ end }) => step <= end) : -1;
  }

  tell() {
    const { current } = this.player;
    const scene = this.at(current);
    const { caption } = this.scenes[scene] ?? {};
    this.number.textContent = scene < 0 ? "" : `${scene + 1}/${this.scenes.length}`;
    this.text.textContent = caption ?? this.story;
    for (const el of [this.player.line, this.player.why]) { // what the caption says is said once
      el.style.visibility = el.textContent === caption ? "hidden" : "";
    }
  }

  /** The caption has the room that the longest one needs, so that nothing jumps. */
  keepRoom() {
    this.caption.style.minHeight = "";
    const before = this.text.textContent;
    const tall = [this.story, ...this.scenes.map((scene) => scene.caption)].map((text) => {
      this.text.textContent = text;
      return this.caption.clientHeight;
    });
    this.text.textContent = before;
    this.caption.style.minHeight = `${Math.max(...tall)}px`;
  }

  /** Play to the end of this scene, or of the next; asked once more, be there at once. After the
   *  last one comes the next page, where there is one. */
  forward() {
    const { player } = this;
    const scene = this.scenes.find(({ end }) => end > player.current);
    if (!scene && this.following) { location.href = this.following; return; }
    if (!scene) return player.go(this.scenes.length ? player.end : player.after());
    if (player.timer) { player.stop(); return player.go(scene.end); }
    player.limit = scene.end;
    player.play();
  }

  /** To the end of the scene before. */
  back() {
    const { player } = this;
    player.stop();
    const ends = this.scenes.map(({ end }) => end).filter((end) => end < player.current);
    player.go(this.scenes.length ? ends.at(-1) ?? 0 : player.before());
  }

  darken(dark) {
    this.player.stop();
    this.black.hidden = !dark;
    (dark ? this.black : this.player.host).focus({ preventScroll: true });
  }

  async enlarge() {
    if (document.fullscreenElement) await document.exitFullscreen();
    else await document.documentElement.requestFullscreen();
  }

  /** The keys of a lecture first, which is what a presenter's remote control sends; then the
   *  player's, wherever the focus is. */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const dark = !this.black.hidden;
    const act = {
      PageDown: () => this.forward(), PageUp: () => this.back(), f: () => this.enlarge(),
      b: () => this.darken(!dark), ".": () => this.darken(!dark),
    }[event.key];
    if (dark && event.key !== "f") {
      event.preventDefault();
      event.stopPropagation();
      return this.darken(false);
    }
    if (act) {
      event.preventDefault();
      event.stopPropagation();
      act();
    } else if (!this.player.host.contains(event.target)) this.player.key(event);
  }
}

/** Make a lecture of the player that `mount` has put into a page. */
async function present(mounted) {
  const player = await mounted;
  player.lecture = new Lecture(player);
}
