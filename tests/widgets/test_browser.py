"""In Chromium: the page steps, nothing overlaps, nothing leaves, axe finds nothing."""

from __future__ import annotations

import importlib.util
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mqlab_widgets import Explorer, Follow, Player, Playground, Predict
from mqlab_widgets.encoding import encode
from mqlab_widgets.payload import Look, build, tail

from mqlab.patterns.two_phase.oracle import TwoPhaseSet

from .fake import FakePlay
from .harness import put, state
from .sample import long_trace, sample
from .test_encoding import random_scene

pytestmark = pytest.mark.needs("chromium")

SIZES = ((1280, 800), (1920, 1080))
#: in each run everything is tried in the light, and by turns in the dark
SCHEMES = ("light", pytest.param("dark", marks=pytest.mark.spread("widgets/mqlab_widgets")))

OVERLAPS = """() => {
  const texts = "text, .title, .chip, .line, .why, .count".replace(/[^ ,]+/g, ".mqlab $&");
  const style = getComputedStyle(document.querySelector(".mqlab"));
  const scale = Number(style.getPropertyValue("--scale")) || 1;
  const visible = { opacityProperty: true, visibilityProperty: true };
  const boxes = [...document.querySelectorAll(texts)]
    .filter((el) => el.textContent.trim() && el.checkVisibility(visible))
    .map((el) => {
      let { left, top, right, bottom } = el.getBoundingClientRect();
      for (let up = el.parentElement; up && up.tagName !== "DIV"; up = up.parentElement) {
        if (up.tagName !== "svg") continue;  // what a viewport clips away does not overlap
        const panel = up.parentElement.closest("svg");
        if (!panel) continue;
        const at = panel.getBoundingClientRect();
        const [x, y, w, h] = ["x", "y", "width", "height"]
          .map((name) => scale * Number(up.getAttribute(name)));
        left = Math.max(left, at.left + x); right = Math.min(right, at.left + x + w);
        top = Math.max(top, at.top + y); bottom = Math.min(bottom, at.top + y + h);
      }
      // A chip that wraps out of its line and what its column has scrolled away are not seen.
      const frame = el.parentElement.closest(".rest, .right")?.getBoundingClientRect();
      if (frame) { top = Math.max(top, frame.top); bottom = Math.min(bottom, frame.bottom); }
      return { text: el.textContent, left, top, right, bottom };
    })
    .filter((b) => b.right > b.left && b.bottom > b.top);
  const out = [];
  for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
    const a = boxes[i], b = boxes[j];
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    // Line boxes are taller than letters: 3 px of shared height is leading, not ink.
    if (wide > 0.5 && high > 3 * scale) out.push([a.text, b.text, wide, high]);
  }
  return out;
}"""


@pytest.fixture
def requests() -> list[str]:
    return []


@pytest.fixture(params=SCHEMES)
def page(browser: Any, request: Any, requests: list[str]) -> Iterator[Any]:
    context = browser.new_context(
        viewport={"width": 1280, "height": 800}, color_scheme=request.param
    )
    page = context.new_page()
    page.on("request", lambda r: requests.append(r.url))
    page.on("pageerror", lambda error: pytest.fail(f"the page raised {error}"))
    yield page
    context.close()


def open_page(page: Any, tmp_path: Path, player: Player) -> None:
    page.goto(player.save(tmp_path / "page.html").as_uri())
    page.wait_for_selector("svg.picture")
    settle(page)


#: waits for the newest wish, then for panels to be described and fonts to come, then for motion
SETTLE = """async () => {
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 260)));
  await document.fonts.ready;
  const moves = ({ playState, effect }) =>
    playState === "running" && effect.getComputedTiming().endTime < Infinity;
  for (let moving; (moving = document.getAnimations().filter(moves)).length;) {
    await Promise.allSettled(moving.map(({ finished }) => finished));
  }
  await new Promise(requestAnimationFrame);
}"""


def settle(page: Any) -> None:
    """Motion is over, however slow the machine, and the newest wish is drawn."""
    page.evaluate(SETTLE)


def step_of(page: Any) -> int:
    page.evaluate("() => new Promise(requestAnimationFrame)")
    return int(page.get_attribute(".mqlab", "data-step"))


def test_keys_buttons_slider_and_rows_step(page: Any, tmp_path: Path) -> None:
    open_page(page, tmp_path, Player(sample(), step=1))
    page.focus(".mqlab")
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 2
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 4, "fact 3 is folded"
    page.keyboard.press("ArrowLeft")
    assert step_of(page) == 2
    page.keyboard.press("End")
    assert step_of(page) == 23
    page.keyboard.press("Home")
    assert step_of(page) == 0
    assert page.is_disabled("button[aria-label='First step']")
    page.click("button[aria-label^='Forward']")
    assert step_of(page) == 1
    page.fill(".slide input", "18")
    assert step_of(page) == 18
    assert "process killed" in page.inner_text(".say .line")
    page.locator("svg.picture text", has_text="EndTxn commit").first.click()
    assert step_of(page) == 14
    assert page.get_attribute(".say", "aria-live") == "polite"
    assert "From here on the coordinator decides" in page.inner_text(".say")


def test_keys_do_not_reach_the_page_around_it(page: Any, tmp_path: Path) -> None:
    open_page(page, tmp_path, Player(sample()))
    page.evaluate("() => { window.heard = []; document.onkeydown = (e) => heard.push(e.key); }")
    page.focus(".mqlab")
    for key in ("ArrowLeft", "ArrowRight", "Home", "End", "Space"):
        page.keyboard.press(key)
    assert page.evaluate("heard") == []


def test_unfolding_shows_all_rows_and_keeps_the_step(page: Any, tmp_path: Path) -> None:
    open_page(page, tmp_path, Player(sample(), step=5))
    assert page.locator(".link").inner_text() == "4 folded"
    page.locator("text.fold").first.click()
    assert step_of(page) == 5
    assert page.locator("text.fold").count() == 0
    page.focus(".mqlab")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert step_of(page) == 3
    page.click(".link")
    assert page.locator("text.fold").count() == 4


def test_play_goes_on_to_the_end_and_stops(page: Any, tmp_path: Path) -> None:
    page.clock.install()
    open_page_frozen(page, tmp_path, Player(sample(), step=20))
    page.click("button[aria-label^='Play']")
    for _ in range(30):
        page.clock.run_for(1_000)
    assert page.get_attribute(".mqlab", "data-step") == "23"
    assert page.locator("button[aria-label^='Play']").count() == 1


def open_page_frozen(page: Any, tmp_path: Path, player: Player) -> None:
    page.goto(player.save(tmp_path / "page.html").as_uri())
    page.wait_for_selector("svg.picture")
    page.clock.run_for(500)


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_two_texts_overlap_at_any_step(
    page: Any, tmp_path: Path, size: tuple[int, int], lang: Any
) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(reduced_motion="reduce")
    trace = sample() if lang == "en" else long_trace(45)
    open_page(page, tmp_path, Player(trace, step=0, lang=lang))
    for step in range(len(trace) + 1):
        page.fill(".slide input", str(step))
        assert step_of(page) == step
        assert page.evaluate(OVERLAPS) == [], f"step {step}"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_nothing_leaves_and_nothing_is_asked_for(
    page: Any, tmp_path: Path, requests: list[str]
) -> None:
    open_page(page, tmp_path, Player(sample()))
    page.keyboard.press("Home")
    left = [url for url in requests if not url.startswith(("file:", "data:"))]
    assert left == []


def test_who_asked_for_no_motion_gets_none(page: Any, tmp_path: Path) -> None:
    page.emulate_media(reduced_motion="reduce")
    open_page(page, tmp_path, Player(sample(), step=3))
    page.focus(".mqlab")
    page.keyboard.press("ArrowRight")
    page.evaluate("() => new Promise(requestAnimationFrame)")
    assert page.evaluate("document.getAnimations().length") == 0


def test_motion_is_short(page: Any, tmp_path: Path) -> None:
    open_page(page, tmp_path, Player(sample(), step=2))
    # Key and question in one frame: a slow machine's next frame may come after the motion ended.
    times = page.evaluate(
        """async () => {
          document.querySelector(".mqlab").dispatchEvent(
            new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
          await new Promise(requestAnimationFrame);
          return document.getAnimations().map((a) => a.effect.getComputedTiming().duration);
        }"""
    )
    assert set(times) == {180, 250}, "250 ms: what the message carries"


def test_the_theme_of_jupyterlab_wins_live(page: Any, tmp_path: Path) -> None:
    open_page(page, tmp_path, Player(sample()))
    ground = "getComputedStyle(document.querySelector('.mqlab')).backgroundColor"
    seen = []
    for light in ("true", "false"):
        page.evaluate(f"document.body.setAttribute('data-jp-theme-light', '{light}')")
        seen.append(page.evaluate(ground))
    assert seen == ["rgb(255, 255, 255)", "rgb(21, 24, 28)"]


def test_two_players_on_one_page_work_and_share_no_id(page: Any) -> None:
    html = Player(sample(), step=5).html() + Player(sample(), step=8).html()
    page.set_content(f"<!doctype html><title>two</title><body>{html}")
    page.wait_for_function("document.querySelectorAll('.mqlab svg.picture').length > 2")
    page.wait_for_function("document.querySelectorAll('.mqlab[data-step]').length === 2")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((el) => el.id)")
    assert len(ids) == len(set(ids))
    steps = "[...document.querySelectorAll('.mqlab')].map((el) => el.dataset.step)"
    assert page.evaluate(steps) == ["5", "8"]
    page.locator(".mqlab").first.focus()
    page.keyboard.press("ArrowRight")
    page.evaluate("() => new Promise(requestAnimationFrame)")
    assert page.evaluate(steps) == ["6", "8"]


def test_a_picture_that_is_not_in_sight_yet_begins_at_its_step(page: Any) -> None:
    """JupyterLab fills an output before it is in the page."""
    failed: list[str] = []
    page.on("pageerror", lambda error: failed.append(str(error)))
    html = Player(sample(), step=8).html()
    page.set_content(f"<!doctype html><title>later</title><body hidden>{html}")
    page.wait_for_function("document.querySelector('.mqlab[data-step]')?.dataset.step === '8'")
    assert failed == []


def test_without_scripts_the_still_is_seen(browser: Any, tmp_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(Player(sample(), step=21).save(tmp_path / "page.html").as_uri())
    box = page.locator(".mqlab img").bounding_box()
    assert box and box["width"] > 600 and box["height"] > 300
    context.close()


def axe(page: Any, where: str) -> list[str]:
    """What axe-core finds in one element, as `rule: element`."""
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.skip("axe-core is missing: pip install axe-playwright-python")
    page.add_script_tag(path=str(Path(found.origin).parent / "axe.min.js"))
    result = page.evaluate(f"axe.run({json.dumps(where)})")
    return [f"{v['id']}: {n['html'][:120]}" for v in result["violations"] for n in v["nodes"]]


def test_axe_finds_nothing_in_the_page(page: Any, tmp_path: Path) -> None:
    open_page(page, tmp_path, Player(sample(), step=21))
    assert axe(page, "html") == []


def test_axe_finds_nothing_in_the_widgets(page: Any) -> None:
    ground = Playground(FakePlay())
    ground.do("next")
    put(page, ground)
    settle(page)
    assert axe(page, "#widget") == []


def test_a_playground_in_the_browser(page: Any) -> None:
    ground = Playground(FakePlay())
    put(page, ground)
    assert page.locator("[data-still]").is_hidden()
    assert page.get_by_role("button", name="undo").is_disabled()
    page.locator(".act button").first.click()
    page.wait_for_selector(".mqlab[data-step='1']")
    assert "do,ack" in page.evaluate("String(window.types)")
    assert page.get_by_role("button", name="undo").is_enabled()
    page.locator(".act select").first.select_option("next kill=1")
    page.wait_for_selector(".mqlab[data-step='2']")
    assert ground.token == "token-next-next kill=1"
    page.get_by_role("button", name="undo").click()
    page.wait_for_selector(".mqlab[data-step='1']")
    page.get_by_role("button", name="kill tc").click()
    page.wait_for_selector(".status.failed")
    assert "choose 'next'" in page.inner_text(".status")
    page.get_by_role("button", name="start again").click()
    page.wait_for_selector(".mqlab[data-step='0']")
    page.get_by_role("button", name="copy token").click()
    page.wait_for_function("document.querySelector('.status').textContent.startsWith('copied')")
    assert "`mqlab open TOKEN`, or open_run(token) in a cell" in page.inner_text(".status")
    page.get_by_role("textbox", name="paste a token").fill("token-next-next-old")
    page.keyboard.press("Enter")
    page.wait_for_selector(".mqlab[data-step='2']")
    assert page.inner_text(".status") == "it tells the same as then"
    assert page.evaluate("document.activeElement.value") == "", "the focus stays in the box"
    page.keyboard.type("f b.")
    page.get_by_role("button", name="open").click()
    page.wait_for_selector(".status.failed")
    assert "paste the whole text" in page.inner_text(".status")


#: what cuts off the left or the upper edge of an element
CLIPPED = """(el) => {
  const { left, top } = el.getBoundingClientRect(), out = [];
  for (let up = el.parentElement; up; up = up.parentElement) {
    const { overflowX, overflowClipMargin } = getComputedStyle(up);
    if (overflowX === "visible" || up.tagName === "svg") continue;
    const free = overflowX === "clip" ? parseFloat(overflowClipMargin) : 0;
    const box = up.getBoundingClientRect();
    if (left < box.left - free || top < box.top - free) out.push(up.className);
  }
  return out;
}"""


def test_a_prediction_is_locked_played_to_its_moment_and_then_judged(page: Any) -> None:
    ask = Predict(
        "Torn?", ["no", "yes"], 1, ["It is.", "Half of T1."], trace=sample(), step=14, until=17,
        shows=["readers: read_committed"], panels=["space-time", "graphs"],
    )  # fmt: skip
    put(page, ask)
    page.wait_for_selector(".mqlab[data-step='14']")
    run, lock = (page.get_by_role("button", name=n) for n in ("Run", "Lock my answer"))
    assert lock.is_disabled() and not run.is_visible()
    page.focus(".mqlab")
    page.keyboard.press("End")
    assert step_of(page) == 14
    assert page.get_by_text("What a reader gets now").count() == 0
    page.get_by_role("radio", name="no").check()
    lock.click()
    assert ask.locked and ask.chosen == 0
    assert page.get_by_role("radio").count() == 1, "the answer one gave is left"
    assert "Half of T1." not in page.content()
    page.evaluate(
        "() => new MutationObserver(() => { window.seen = (window.seen ?? []).concat(["
        "[Number(document.querySelector('.mqlab').dataset.step),"
        " document.querySelector('.verdict').textContent]]); })"
        ".observe(document.querySelector('.mqlab'), { attributeFilter: ['data-step'] })"
    )
    run.click()
    page.wait_for_selector(".verdict b")
    assert step_of(page) == 17, "it stays at the asked moment"
    assert "Not so." in page.inner_text(".verdict") and "Half of T1." in page.inner_text(".verdict")
    assert [said for step, said in page.evaluate("window.seen") if step < 17 and said] == []
    lit = page.locator("rect.answer")
    assert lit.count() == 1 and "read_committed" in lit.locator("..").text_content()
    assert lit.evaluate(CLIPPED) == [], "its edge is in sight"
    assert ask.revealed and not run.is_visible()
    page.keyboard.press("End")  # the focus has stayed in the widget
    page.wait_for_function("() => document.querySelector('.mqlab').dataset.step === '23'")
    assert page.locator("rect.answer").count() == 0
    assert "Not so." in page.inner_text(".verdict")
    assert axe(page, "#widget") == []


def test_what_answers_comes_into_sight_once_and_a_chosen_tab_stays(page: Any) -> None:
    page.set_viewport_size({"width": 560, "height": 500})
    shows = ["readers: read_committed"]
    put(page, Predict("?", ["a", "b"], 1, trace=sample(), step=14, until=17, shows=shows))
    page.get_by_role("radio", name="a").check()
    page.get_by_role("button", name="Lock my answer").click()
    page.get_by_role("button", name="Run").click()
    page.wait_for_selector(".verdict b")
    page.locator("rect.answer").wait_for()
    other = page.get_by_role("tab", name="Diagram")
    assert other.get_attribute("aria-selected") == "false"
    other.click()
    settle(page)
    assert other.get_attribute("aria-selected") == "true"
    assert step_of(page) == 17 and page.locator("rect.answer").count() == 1


def test_a_moment_that_is_folded_is_unfolded(page: Any) -> None:
    folded = next(i for i, fact in enumerate(sample().facts, 1) if fact.fold)
    put(page, Predict("?", ["a", "b"], 1, trace=sample(), step=folded - 1, until=folded))
    page.get_by_role("radio", name="a").check()
    page.get_by_role("button", name="Lock my answer").click()
    page.get_by_role("button", name="Run").click()
    page.wait_for_selector(".verdict b")
    settle(page)  # what the message carries has arrived
    assert page.locator(".row.now").is_visible()
    assert page.locator(".row.now .num").text_content() == str(folded)


def test_what_was_answered_before_is_there_at_once(page: Any) -> None:
    ask = Predict(
        "Torn?", ["no", "yes"], 1, ["It is.", "Half."], trace=sample(), step=14, until=17,
        chosen=1, revealed=True,
    )  # fmt: skip
    put(page, ask)
    page.wait_for_selector(".mqlab[data-step='17']")
    assert page.inner_text(".verdict") == "Right. yes — Half."
    assert not page.get_by_role("button", name="Run").is_visible()


@pytest.mark.parametrize("kind", ["predict", "playground", "explorer"])
def test_a_widget_that_is_asked_for_before_it_is_filled_waits(page: Any, kind: str) -> None:
    """On a busy machine the notebook draws it between its opening and its first message."""
    made = {
        "predict": lambda: Predict("?", ["a", "b"], 1, trace=sample(), step=14),
        "playground": lambda: Playground(FakePlay()),
        "explorer": lambda: Explorer(TwoPhaseSet(managers=2)),
    }
    put(page, made[kind](), late=True)
    page.locator(".mqlab button").locator("visible=true").first.wait_for()
    settle(page)


def test_a_question_without_a_run(page: Any) -> None:
    ask = Predict("Is a timeout a no?", ["yes", "no: it is unknown"], 1)
    put(page, ask)
    page.get_by_role("radio", name="unknown").check()
    page.get_by_role("button", name="Lock my answer").click()
    page.get_by_role("button", name="Run").click()
    page.wait_for_selector(".verdict b")
    assert "Right." in page.inner_text(".verdict")
    assert ask.right is True
    assert axe(page, "#widget") == []


def test_following_goes_on_but_leaves_who_looks_back_where_they_are(page: Any) -> None:
    from .test_widgets import serving

    with serving() as (server, url):
        follow = Follow(url, every_s=60)
        put(page, follow)
        page.wait_for_selector(".mqlab[data-step='4']")
        server.upto = 9
        follow.poll()
        page.evaluate("(now) => take(now)", state(follow))
        page.wait_for_selector(".mqlab[data-step='7']")
        assert "9 facts so far" in page.inner_text(".status")
        page.focus(".mqlab")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        server.upto = 20
        follow.poll()
        page.evaluate("(now) => take(now)", state(follow))
        page.wait_for_function("document.querySelector('.slide input').max === '16'")
        assert step_of(page) == 1
        follow.stop()


#: what is below an element; then the same by a player (or a panel) that had drawn other payloads,
#: and by one that is new
DRAWN = """(el) => [...el.querySelectorAll("*")].map((one) => [one.tagName, one.mqlabKey,
  ...[...one.attributes].map(({ name, value }) => `${name}=${value}`).sort(),
  one.children.length ? "" : one.textContent].join())"""
PLAYERS = """async ([payloads, drawn]) => {
  const old = document.querySelector(".mqlab").mqlab, read = eval(drawn), out = [];
  const look = async (player) => {
    for (const _ of "12") await new Promise(requestAnimationFrame);
    const { el, panels } = player.stage;
    return [player.line.textContent, el.style.height, ...panels.flatMap((panel) =>
      [panel.base, panel.variant, panel.visible, ...read(panel.el)])];
  };
  for (const data of payloads) {
    const before = new Set(old.stage.el.querySelectorAll("*"));
    old.load(data, data.meta.step);
    const seen = await look(old), host = document.createElement("div");
    const kept = [...old.stage.el.querySelectorAll("*")].filter((el) => before.has(el)).length;
    host.className = "mqlab";
    old.host.replaceWith(host);
    const fresh = new old.constructor(host, data, old.unfolded);
    fresh.choose(old.level);
    out.push([kept, seen, await look(fresh)]);
    host.replaceWith(old.host);
  }
  return out;
}"""
PANELS = """([payloads, drawn]) => {
  const [{ panel }] = document.querySelector(".mqlab").mqlab.panels, read = eval(drawn);
  let last;
  return payloads.flatMap(({ panels: [packed], shapes }) => {
    const make = (before) =>
      new panel.constructor(packed, shapes, { title: "", size: [9, 9] }, 1, before);
    const fresh = make();
    last = make(last);
    return [0, 2, 1].map((step) => [last, fresh].map((one) => {
      one.seek(step);
      return read(one.svg);
    }));
  });
}"""


@pytest.mark.spread("widgets/mqlab_widgets")
def test_another_payload_is_drawn_as_by_a_new_player_and_keeps_what_stays(
    page: Any, tmp_path: Path
) -> None:
    trace = long_trace(90)
    looks = [Look(lang="en"), Look(lang="en"), Look(lang="zh"), Look(lang="en", level="protocol")]
    cuts = [(3, 3), (4, 4), (12, 12), (40, 38), (41, 41), (90, 60), (90, 90), (8, 0), (60, 59)]
    payloads = []
    for i, (end, step) in enumerate(cuts):
        cut = replace(trace, facts=trace.facts[:end], snapshots=trace.snapshots[: end + 1])
        payloads.append(build(tail(cut), step, looks[i % len(looks)]))
    open_page(page, tmp_path, Player(sample(), step=1))
    for kept, seen, wanted in page.evaluate(PLAYERS, [payloads, DRAWN])[1:]:
        assert seen == wanted
        assert kept > 20

    dice = random.Random(7)
    random_payloads = [encode({"p": [random_scene(dice) for _ in range(3)]}) for _ in range(60)]
    for seen, wanted in page.evaluate(PANELS, [random_payloads, DRAWN]):
        assert seen == wanted
