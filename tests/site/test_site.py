"""The site: every address leads to one of its files, sizes are kept, and its pages play."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import re
import zlib
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from mqlab.cli import main
from mqlab.kernel import speaking
from mqlab.lessons.decision import ask_questions, decide, list_rules, list_ways, write_answers
from mqlab.places import LABS, SCENARIOS
from mqlab.scenario import parse_script
from mqlab.scenario.language import read_typed
from mqlab.site import figure, pages, play, stories, write_site
from tests.site.conftest import Links, serve_folder

ALL = sorted(stories.SCENARIOS.rglob("*.scn"))
STORY = "stories/kafka/counterexamples/lso.html"


def test_every_address_leads_to_a_file_of_the_site(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        for address in Links(page.read_text("utf-8")).found:
            if address.startswith(("#", "data:")):
                continue
            assert ":" not in address and not address.startswith("/"), (page, address)
            there = (page.parent / address.partition("#")[0]).resolve()
            assert there.is_file() and there.is_relative_to(site), (page, address)
            place = address.partition("#")[2] if there.name != "play.html" else ""
            assert f'id="{place}"' in there.read_text("utf-8") if place else True, (page, address)


def test_each_page_has_its_twin_in_the_other_language(site: Path) -> None:
    english = {path.relative_to(site) for path in site.rglob("*.html")}
    chinese = {path.relative_to(site / "zh") for path in (site / "zh").rglob("*.html")}
    english -= {Path("zh") / name for name in chinese}
    assert english == chinese and len(english) > 20
    for name in sorted(chinese):
        text = (site / "zh" / name).read_text("utf-8")
        assert '<html lang="zh"' in text, name
        if '<a class="twin"' in text:
            twin = next(a for a in Links(text).found if a.endswith(f"../{name.as_posix()}"))
            assert (site / "zh" / name).parent.joinpath(twin).resolve() == site / name


def test_a_template_without_chinese_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "look_up", lambda *said: "")
    with speaking("zh"), pytest.raises(LookupError, match="no Chinese for “Scenarios”"):
        pages.translate("Scenarios")


def test_a_story_is_small_and_the_first_page_too(site: Path) -> None:
    """A story as a web server sends it, compressed; the first page as its files are."""
    pages = (site / "stories").rglob("*.html")
    sizes = {page.name: len(gzip.compress(page.read_bytes())) for page in pages}
    assert max(sizes.values()) <= 40_000, sizes
    first = site / "index.html"
    loaded = [site / address for address in Links(first.read_text("utf-8")).found]
    shared = {path for path in loaded if path.suffix in (".css", ".js")}
    assert sum(path.stat().st_size for path in (first, *shared)) <= 400_000


def test_what_a_story_says_is_text(
    few_pages: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = '# A <img src=x onerror=alert(1)> "title".\n# </script><script>alert(1)</script>\n'
    calls = "system kafka partitions=1\nrun app: init, begin, send orders-0 <b>a</b>, commit\n"
    file = tmp_path / "from" / "kafka" / "hostile.scn"
    file.parent.mkdir(parents=True)
    file.write_text(hostile + calls, "utf-8")
    monkeypatch.setattr(stories, "SCENARIOS", tmp_path / "from")
    folder = write_site(tmp_path / "to", (file,)).folder
    for page in (folder / "gallery.html", folder / "stories/kafka/hostile.html"):
        text = page.read_text("utf-8")
        assert "alert(1)" in text
        assert not {"img", "b"} & set(Links(text.replace("<b></b>", "")).tags)


def test_a_folder_that_holds_something_else_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    assert main(["site", "-o", str(tmp_path)]) == 2
    assert "contains other files: name an empty folder" in capsys.readouterr().err
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_an_earlier_site_is_replaced(few_pages: None, tmp_path: Path) -> None:
    for paths in (ALL[:2], ALL[2:3]):
        write_site(tmp_path / "site", tuple(paths))
    assert len(list((tmp_path / "site/stories").rglob("*.html"))) == 1


def test_anomalies_and_safeguards_are_found(site: Path) -> None:
    told = next(one for one in stories.list_stories((stories.SCENARIOS / f"{STORY[8:-5]}.scn",)))
    assert (told.broker, told.safeguards) == ("kafka", ("lso",))
    assert (
        told.anomaly and f'data-anomaly="{told.anomaly.en}"' in (site / "gallery.html").read_text()
    )


def test_markup_and_far_links_of_a_document_are_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "A.md").write_text(
        "# A `b`\n\n<script>alert(1)</script> [code](mqlab/x.py), [far](https://example.org/), "
        "[near](B.md#its-part), ![a picture](x.png)\n"
    )
    (tmp_path / "B.md").write_text("# B\n\n## Its part\n\n[back](A.md)\n")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "DOCUMENTS", {"A.md": ("a", "first"), "B.md": ("b", "second")})
    monkeypatch.setattr(pages, "FOR_TEACHERS", {})
    a, b = pages.list_documents()
    assert a.title == "A b" and "&lt;script&gt;" in a.html
    assert Links(a.html).found == ["b.html#its-part"] and 'id="its-part"' in b.html
    assert "code, far, " in a.html and "a picture" in a.html


def test_the_figure_of_the_signs_is_drawn_by_this_engine(site: Path) -> None:
    """`python -m mqlab.site.figure > labs/images/picture.svg` draws it again."""
    kept = (LABS / "images" / "picture.svg").read_text("utf-8")
    assert kept.partition("</style>")[2] == figure.draw_figure().partition("</style>")[2]
    page = (site / "docs" / "picture.html").read_text("utf-8")
    assert "../images/picture.svg" in Links(page).found
    assert page[: page.index("A label above")].count("<li>") == len(figure.MARKS)


def test_each_thing_that_is_bundled_has_its_licence(site: Path) -> None:
    text = (site / "licences.html").read_text("utf-8")
    texts = {address for address in Links(text).found if address.endswith(".txt")}
    assert texts == {f"licences/{path.name}" for path in (site / "licences").iterdir()}
    assert f"Pyodide {play.VERSION}" in text and "Inter 4.1" in text


# --- in a browser ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with serve_folder(site.parent) as top:
        yield f"{top}/below/"


#: a picture draws the newest wish, and arranges itself in another window, with the next frame
SETTLED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("width", [1280, 390])
def test_money_disappears_in_two_clicks_and_the_first_is_in_sight(
    browser: Any, address: str, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800 if width > 400 else 844})
    page.goto(f"{address}index.html")
    for name in ("Stop it here", "Deliver “customer"):
        box = page.get_by_role("button", name=name).bounding_box()
        assert box["y"] + box["height"] <= page.viewport_size["height"]
    page.get_by_role("button", name="Stop it here").click()
    page.get_by_role("button", name="though its sender stopped").click()
    assert page.text_content(".payment .won").startswith("You made £316.78 disappear in 2 steps.")
    assert "£316.78 has disappeared" in page.text_content(".payment .sum")
    assert page.locator(".payment circle").count() == 3
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Start it again").click()
    assert page.locator(".payment circle").count() == 4, "the other future is still there"
    page.locator(".payment circle.bad").click()
    assert page.locator(".payment .told li").count() == 2
    page.get_by_role("button", name="Start it again").click()
    page.get_by_role("button", name="Let it run").click()
    assert "has received it once" in page.text_content(".payment .meaning")
    assert page.get_by_role("button", name="Let it run").is_disabled()
    page.close()


@pytest.mark.needs("chromium")
def test_a_transaction_loses_nothing_and_pays_twice_by_keyboard(page: Any, address: str) -> None:
    page.goto(f"{address}index.html")
    page.get_by_role("button", name="in a transaction").focus()
    page.keyboard.press("Enter")
    assert page.text_content(".payment .task").startswith("Make the £316.78 disappear")
    assert page.text_content(".payment .result") == "", "nothing is said before it is tried"
    for name in ("Stop it here", "Let it run"):
        page.get_by_role("button", name=name).focus()
        page.keyboard.press("Enter")
        focused = page.evaluate("document.activeElement.closest('.payment') !== null")
        assert focused, "the focus is not lost"
    assert page.text_content(".payment .meaning") == "Nobody has paid, and nothing is lost."
    assert "nothing of it counts" in page.text_content(".payment .card.broker")
    assert "21,795" in page.text_content(".payment .result")
    assert page.text_content(".payment .task") == "Now make the customer pay twice."
    assert "Begin again" in page.text_content(".payment .result")
    page.get_by_role("button", name="Begin again").click()
    assert "Begin again" not in page.text_content(".payment .result")
    page.get_by_role("button", name="Let it run").press("Enter")
    while not page.locator(".payment .stop").count():
        page.get_by_role("button", name="Undo").press("Enter")
    for name in ("Stop it here", "Start it again", "Let it run"):
        page.get_by_role("button", name=name).press("Enter")
    assert page.text_content(".payment .meaning") == "The customer has paid twice."
    assert page.text_content(".payment .sum").count("£633.56") == 2
    assert page.locator(".payment a.next").get_attribute("href") == "learn.html"


def test_a_lab_can_be_read_and_says_its_name_to_a_teacher(site: Path) -> None:
    for folder, title in ((site, "how do a message and a row"), (site / "zh", "怎样合二为一")):
        page = (folder / "docs" / "lab-03.html").read_text("utf-8")
        assert title in page and "def create_order" in page and "SOLUTION" not in page
        assert "docs/lab-03.html" in Links((folder / "learn.html").read_text("utf-8")).found
        assert title in (folder / "teach.html").read_text("utf-8")


def test_no_page_shows_the_marks_of_markdown(site: Path) -> None:
    """In Chinese a mark between two characters is one only where no punctuation is beside it."""
    for path in site.rglob("*.html"):
        text = re.sub(r"<(script|code|pre)\b.*?</\1>", "", path.read_text("utf-8"), flags=re.S)
        assert "**" not in text, path


@pytest.mark.needs("chromium")
def test_the_first_playground_speaks_chinese(page: Any, address: str) -> None:
    page.goto(f"{address}zh/index.html")
    text = page.text_content(".payment")
    assert "£316.78" in text and not re.search("[A-Za-z]{3}", text.replace("broker", ""))


def test_each_incident_is_on_the_page_of_symptoms_once(few_pages: None, tmp_path: Path) -> None:
    heads = {
        path.relative_to(SCENARIOS): parse_script(path.read_text("utf-8")).head
        for path in SCENARIOS.rglob("*.scn")
    }
    told = sorted(path for path, head in heads.items() if "report" in head)
    assert {heads[path]["symptom"] for path in told} == set(pages.SYMPTOMS)
    two = [path for path in told if path.parent.name == "incidents"][:2]
    write_site(tmp_path, tuple(SCENARIOS / path for path in two))
    text = (tmp_path / "incidents.html").read_text("utf-8")
    typed = [path.read_text("utf-8") for path in SCENARIOS.rglob("*.run")]
    shown = [read_typed(one)[1] for one in typed if "# report: " in one]
    assert shown and all(text.count(f'<code tabindex="0">{one}</code>') == 1 for one in shown)
    links = [one for one in Links(text).found if one.startswith("stories/")]
    assert sorted(links) == sorted(f"stories/{path.with_suffix('')}.html" for path in two)


@pytest.mark.needs("chromium")
def test_a_search_finds_by_word_and_choice_and_its_address_keeps_it(
    page: Any, address: str
) -> None:
    page.goto(f"{address}gallery.html")
    shown = page.locator(".cards li:visible")
    assert shown.count() == 0, "groups are folded until one asks"
    page.locator(".group").first.locator("summary").click()
    first = shown.count()
    assert 0 < first < page.locator(".cards li").count()
    page.select_option("[name=safeguard]", "lso")
    assert page.locator(".cards li:visible").count() == 1
    assert page.text_content("#found") == "1 scenario"
    page.reload()
    assert page.locator(".cards li:visible").count() == 1
    page.fill("[name=words]", "no such word")
    assert page.locator("#nothing").is_visible()
    page.fill("[name=words]", "")
    page.select_option("[name=safeguard]", "")
    assert shown.count() == 0 and page.locator(".group:visible").count() > 1


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("lang", ["", "zh/"])
def test_a_search_finds_chinese_words(page: Any, address: str, lang: str) -> None:
    """On the pages of both languages, by all words that are asked for, also behind a wide blank."""
    page.goto(f"{address}{lang}gallery.html")
    shown = page.locator(".cards li:visible")
    every = page.locator(".cards li").count()
    page.fill("[name=words]", "控制消息")
    named = shown.count()
    assert 0 < named < every
    page.fill("[name=words]", "控制消息　读者")
    assert 0 < shown.count() < named
    assert all("读者" in card.get_attribute("data-words") for card in shown.all())
    kept = shown.count()
    page.reload()
    assert page.input_value("[name=words]") == "控制消息　读者" and shown.count() == kept
    page.fill("[name=words]", "量子")
    assert page.locator("#nothing").is_visible()


def test_every_verdict_of_the_choice_leads_to_a_run_or_is_that_there_is_none(site: Path) -> None:
    text = (site / "choose.html").read_text("utf-8")
    cells = re.findall(r"<td>(.*?)</td>", text)
    for verdict in (
        "possible: a reader comes between two markers",
        "excluded with ExclusiveWithFencing",
        "only if inbox is off",
        "only with a legacy client",
        "retries within one session",
        "not covered",
    ):
        assert any(f">{verdict}</a>" in cell for cell in cells), verdict
    assert any("○</b> not covered" in cell for cell in cells)
    assert any("✓</b> impossible (searched)" in cell for cell in cells)
    assert any("–</b> no such thing" in cell for cell in cells)
    moments = (*range(1, 7), "unsent")
    ways = {f"ways/{who}-{when}.html" for who in ("sender", "coordinator") for when in moments}
    assert ways <= set(Links(text).found)


def test_what_is_said_to_be_recorded_is_counted_on_the_pages_of_the_stories(site: Path) -> None:
    """The gallery speaks of all stories, the choice of those that it leads to."""
    shown = re.compile(r"\d+ of its \d+ steps were recorded")
    pages = {
        path.relative_to(site).as_posix(): bool(shown.search(path.read_text("utf-8")))
        for path in (site / "stories").rglob("*.html")
    }
    told = re.search(r"In (\d+) of (\d+), some steps", (site / "gallery.html").read_text("utf-8"))
    assert told and 0 < sum(pages.values()) < len(pages)
    assert [int(one) for one in told.groups()] == [sum(pages.values()), len(pages)]
    text = (site / "choose.html").read_text("utf-8")
    told = re.search(
        r"Of the\s+(\d+) scenarios that this page links to,\s+(\d+) have recorded", text
    )
    linked = {one for one in Links(text).found if one.startswith("stories/")}
    assert told and [int(one) for one in told.groups()] == [
        len(linked),
        sum(pages[one] for one in linked),
    ]


def test_a_lecture_leads_from_page_to_page_and_its_handout_tells_no_answer(site: Path) -> None:
    _, scenes = stories.read_scenes()
    here, seen = "1-vote.html", list[str]()
    while here != "index.html":
        seen.append(here)
        text = unescape((site / "lecture" / here).read_text("utf-8"))
        right = re.findall('class="right">(.*?)<', text)
        if 'class="payload"' not in text:
            scene = scenes[int(here[0]) - 1]
            answer = [scene.options[scene.answer - 1]] if "answer" in here else []
            assert right == answer, here
            (here,) = re.findall(r'id="following" href="([^"]+)"', text)
        else:
            (payload,) = re.findall(r'class="payload">([^<]+)<', text)
            played = json.loads(zlib.decompress(base64.b64decode(payload)))
            assert played["meta"]["level"] == here[2:-5]
            assert "Many articles say" not in str(played)
            here = played["meta"]["lecture"]["following"]
    assert seen == [f"{n}-{kind}.html" for n in range(1, 8) for kind in stories.PAGES]
    handout = unescape((site / "lecture" / "handout.html").read_text("utf-8"))
    assert all(option in handout for one in scenes for option in one.options)
    assert not [cap for one in scenes for _, cap in one.cuts if cap.en in handout]
    hidden = [word for one in scenes for word in re.findall(r"\[(.*?)\]", one.idea)]
    told = unescape((site / "lecture" / "handout-answers.html").read_text("utf-8"))
    assert handout.count("class='blank'") == len(hidden) and "class='blank'" not in told
    right = [one.options[one.answer - 1] for one in scenes]
    assert re.findall("<b>✓ (.*?)</b>", told) == right and "✓" not in handout
    assert all(f"<b>{word}</b>" in told and f"<b>{word}</b>" not in handout for word in hidden)
    assert all(cap.en in told for one in scenes for _, cap in one.cuts)


@pytest.mark.parametrize(
    ("caption", "says"),
    [
        ('{ caption = "one two three four five six seven" }', "has more than 6 words"),
        ('{ until = "nobody ▮", caption = "So." }', "no fact after position 0 looks like"),
    ],
)
def test_a_caption_that_does_not_fit_its_run_is_refused(
    tmp_path: Path, caption: str, says: str
) -> None:
    source = tmp_path / "lecture.toml"
    scene = """[[scenes]]\ntitle = "A"\nminutes = 1\nshort = 0\nway = "outbox"\nnotes = ""
ask = "?"\noptions = ["!"]\nanswer = 1\nidea = "."\n"""
    source.write_text(f"{scene}captions = [{caption}]\n", "utf-8")
    with pytest.raises(ValueError, match=says):
        stories.read_scenes(source)


def test_a_claim_that_leads_nowhere_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "choose.md"
    source.write_text("# Which?\n\n[so](story:kafka/no-such-story)\n")
    monkeypatch.setattr(pages, "SOURCE", source)
    with pytest.raises(FileNotFoundError, match=r"no-such-story\.scn, which is not there"):
        pages.list_linked()


#: gives the form these answers, one after the other: which rule is shown, and which way is open
ASKED = """(all) => all.map((answers) => {
  const form = document.getElementById("ask");
  for (const [name, given] of Object.entries(answers)) form.elements[name].value = given;
  form.dispatchEvent(new Event("input"));
  const rules = [...document.querySelectorAll("[data-rule]")];
  const open = [...document.querySelectorAll("details[data-way][open]")];
  return [rules.flatMap((one, i) => one.hidden ? [] : [i]), open.map((one) => one.dataset.way)];
})"""


@pytest.mark.needs("chromium")
def test_the_page_decides_as_the_table_does_and_its_address_keeps_the_answers(
    page: Any, address: str
) -> None:
    names = list(ask_questions())
    every = itertools.product(*(one.options for one in ask_questions().values()))
    all_answers = [dict(zip(names, chosen, strict=True)) for chosen in every]
    page.goto(f"{address}choose.html#{write_answers(all_answers[700])}")
    rules = list_rules()
    expected = [decide(answers) for answers in all_answers]
    shown = page.locator("[data-rule]:visible")
    said = str(expected[700].says)
    assert shown.count() == 1 and said[:60] in " ".join(shown.inner_text().split())
    assert page.evaluate(ASKED, all_answers) == [
        [[rules.index(one)], [one.way]] for one in expected
    ]
    page.select_option("[name=language]", "go")
    for name, way in list_ways().items():
        lines = page.evaluate(
            "name => [...document.querySelectorAll(`[data-way=${name}] li:not([hidden])`)]"
            ".map((line) => line.textContent)", name,
        )  # fmt: skip
        for language, client, *_ in way.clients:
            named = [line for line in lines if f": {client}: " in line]
            assert len(named) == (language == "go"), (name, client)
    page.select_option("[name=beside]", "row")
    assert "#beside=row&reader=" in page.url
    page.wait_for_selector(".runs .mqlab[data-step]")
    page.click("a.twin")
    page.wait_for_selector("html[lang=zh] [data-rule]:visible")
    assert "#beside=row&reader=" in page.url and page.input_value("[name=beside]") == "row"


@pytest.mark.needs("chromium")
@pytest.mark.parametrize(("width", "columns"), [(1440, 2), (1920, 4)])
def test_four_runs_have_arrows_beside_each_other(
    page: Any, address: str, width: int, columns: int
) -> None:
    """And where two stand in a row, what readers get beside the arrows; logs at the next level."""
    page.set_viewport_size({"width": width, "height": 900})
    for path in ("ways/coordinator-3.html", "choose.html"):
        page.goto(address + path)
        page.wait_for_selector(".runs .mqlab:nth-of-type(4)[data-step]")
        page.evaluate(SETTLED)
        boxes = [one.bounding_box() for one in page.locator(".runs .mqlab").all()]
        assert len({round(one["x"]) for one in boxes}) == columns
        assert page.locator(".runs svg[data-panel=space-time]:visible").count() == 4
        if columns == 2:
            assert page.locator(".runs svg[data-panel=readers]:visible").count() == 4
    page.locator(".runs [data-level=protocol]").first.click()
    page.evaluate(SETTLED)
    assert page.locator(".runs .mqlab [role=tab]", has_text="On disk").count() > 0


@pytest.mark.needs("chromium")
def test_four_ways_go_on_one_slider(page: Any, address: str) -> None:
    page.goto(f"{address}ways/coordinator-3.html")
    page.wait_for_selector(".runs .mqlab:nth-of-type(4)[data-step]")
    steps = [one.get_attribute("data-step") for one in page.locator(".runs .mqlab").all()]
    page.locator(".runs .mqlab").first.press("End")
    page.wait_for_function(
        "(old) => [...document.querySelectorAll('.runs .mqlab')]"
        ".every((one, i) => one.dataset.step !== old[i])",
        arg=steps,
    )
    page.set_viewport_size({"width": 1432, "height": 900})
    page.wait_for_function("() => !document.querySelector('.stage > .right:empty')")


@pytest.mark.needs("chromium")
def test_page_down_leads_from_a_vote_to_its_run_and_behind_its_end_to_the_next(
    page: Any, address: str
) -> None:
    page.goto(f"{address}lecture/1-vote.html")
    for lang in ("zh", "en"):
        page.click("a.twin")
        page.wait_for_selector(f"html[lang={lang}]")
    assert page.url == f"{address}lecture/1-vote.html"
    page.keyboard.press("PageDown")
    page.wait_for_selector(".lecture[data-step='0']")
    page.keyboard.press("End")
    page.keyboard.press("PageDown")
    page.wait_for_url("**/1-answer.html")
    page.keyboard.press("PageDown")
    page.wait_for_url("**/1-protocol.html")


@pytest.mark.needs("chromium")
def test_a_lecture_on_a_projector_cuts_no_log_and_no_tab(page: Any, address: str) -> None:
    """Pulsar's run has four logs, which are taller than what the others show."""
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.goto(f"{address}lecture/6-protocol.html")
    page.wait_for_selector(".lecture[data-step='0']")
    cut = """() => [...document.querySelectorAll("svg.picture:not([data-panel^=space-time])")]
      .filter((svg) => svg.checkVisibility())
      .map((svg) => svg.getBoundingClientRect().bottom
        - document.querySelector(".stage").getBoundingClientRect().bottom)"""
    assert page.evaluate(cut) and max(page.evaluate(cut)) <= 0
    tabs = "[...document.querySelectorAll('.tabs button')].map((el) => "
    cut = page.evaluate(tabs + "el.scrollHeight - el.clientHeight)")
    assert len(cut) > 1 and not any(cut)


@pytest.mark.needs("chromium")
def test_a_story_steps_by_keys(page: Any, address: str) -> None:
    page.goto(address + STORY)
    page.wait_for_selector(".mqlab[data-step='0']")
    page.keyboard.press("End")
    end = page.get_by_role("slider").get_attribute("max")
    assert int(end or 0) > 5
    page.wait_for_selector(f".mqlab[data-step='{end}']")


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("width", [1280, 390])
def test_a_story_asks_and_shows_what_has_happened_and_nothing_more(
    page: Any, address: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{address}stories/kafka/undecided-not-visible.html")
    page.wait_for_selector(".mqlab[data-step]")
    for seen in range(1, 4):
        said = page.locator(".mqlab .story:visible").all_text_contents()
        rows = page.locator(".mqlab [class~=row]:visible:has(.story)")
        assert rows.count() == seen, said
        frame = page.locator("svg[data-panel=space-time]").bounding_box()
        assert rows.first.bounding_box()["y"] >= frame["y"], "it stands inside its frame"
        page.keyboard.press("ArrowRight")
        page.evaluate(SETTLED)
    answer = page.locator("details .lead")
    assert not answer.is_visible() and answer.text_content() not in page.text_content(".say")
    page.keyboard.press("End")
    page.get_by_text("The answer").click()
    assert answer.is_visible() and answer.text_content() in page.text_content(".say")


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("path", [STORY, "ways/coordinator-3.html"])
def test_a_page_leads_to_its_twin_at_the_same_step(page: Any, address: str, path: str) -> None:
    page.goto(address + path)
    page.wait_for_selector(".mqlab[data-step]")
    for _ in range(5):
        page.locator(".mqlab").first.press("ArrowRight")
    page.evaluate(SETTLED)  # the newest wish is drawn
    step = page.locator(".mqlab").first.get_attribute("data-step")
    page.click("a.twin")
    page.wait_for_selector(f"html[lang=zh] .mqlab[data-step='{step}']")
    assert page.url.partition("#")[0] == f"{address}zh/{path}" and int(step or 0) >= 5
    page.click("a.twin")
    page.wait_for_selector(f"html[lang=en] .mqlab[data-step='{step}']")


@pytest.mark.needs("chromium")
@pytest.mark.parametrize(("wide", "scale"), [(390, "1"), (1280, "1.2")])
def test_letters_of_a_story_grow_where_there_is_room(
    wide: int, scale: str, page: Any, address: str
) -> None:
    page.set_viewport_size({"width": wide, "height": 800})
    page.goto(f"{address}{STORY}")
    page.wait_for_selector(".mqlab[data-step]")
    found = page.evaluate("document.querySelector('.mqlab').style.getPropertyValue('--scale')")
    assert found == scale


@pytest.mark.needs("chromium")
def test_a_search_stays_in_the_other_language(page: Any, address: str) -> None:
    page.goto(f"{address}gallery.html")
    page.fill("[name=words]", "控制消息")
    found = page.locator(".cards li:visible").count()
    page.click("a.twin")
    page.wait_for_selector("html[lang=zh]")
    assert page.input_value("[name=words]") == "控制消息"
    assert page.locator(".cards li:visible").count() == found > 0


@pytest.mark.needs("chromium")
@pytest.mark.parametrize(
    "path",
    [
        "index.html",
        "gallery.html",
        "incidents.html",
        "choose.html",
        "ways/coordinator-3.html",
        "read.html",
        "licences.html",
        "docs/architecture.html",
        "docs/instructor.html",
        "docs/picture.html",
        "lecture/index.html",
        "lecture/1-vote.html",
        STORY,
        "zh/index.html",
        "zh/gallery.html",
        "zh/docs/picture.html",
        f"zh/{STORY}",
    ],
)
def test_axe_finds_nothing_and_nothing_leaves_the_width(page: Any, address: str, path: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page.goto(address + path)
    page.wait_for_load_state("networkidle")
    for scheme, width in ("light", 1280), ("dark", 390):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate(SETTLED)
        found = axe.run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], (scheme, width)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
