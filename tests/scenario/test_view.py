"""`mqlab view` and `mqlab open`: pages, pictures, films and data of a run."""

import base64
import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
import zlib
from io import BytesIO
from pathlib import Path

import pytest
from mqlab_widgets.lecture import TELLING, find_telling
from PIL import Image, ImageSequence

from mqlab.cli import doctor, main, pictures
from mqlab.cli.pictures import gif_of
from mqlab.cli.run import open_scenario
from mqlab.kernel import Play, Trace
from mqlab.registry import system

SCENARIOS = Path(__file__).parents[2] / "datasets" / "scenarios" / "kafka"

RESTARTED = "It knows again what its log says and no more: what was not decided there, never was."


@pytest.fixture
def scenario(tmp_path):
    copy = tmp_path / "basic-commit.scn"
    shutil.copy(SCENARIOS / "basic-commit.scn", copy)
    return copy


@pytest.fixture(autouse=True)
def opened(monkeypatch):
    """What a browser would have been asked to open."""
    addresses = []
    monkeypatch.setattr(pictures.webbrowser, "open", lambda url: addresses.append(url) or True)
    return addresses


def test_view_writes_a_page_a_picture_and_a_trace(scenario, tmp_path, opened):
    page, picture, data = (tmp_path / f"out.{kind}" for kind in ("html", "svg", "json"))
    assert main(["view", str(scenario), "-o", str(page)]) == 0
    assert main(["view", str(scenario), "-o", str(picture), "--step", "12"]) == 0
    assert main(["view", str(scenario), "-o", str(data)]) == 0
    assert "http" not in page.read_text("utf-8").replace("http://www.w3.org/", "")
    assert "step 12 of" in ET.fromstring(picture.read_text("utf-8")).attrib["aria-label"]
    assert "CompleteCommit" in Trace.load(data).narrate()
    assert main(["view", str(data), "-o", str(page)]) == 0
    assert opened == []


def test_recordings_and_articles_speak_of_the_projects_own_scenarios_only(scenario, tmp_path):
    told = []
    for path in (SCENARIOS / scenario.name, scenario):
        assert main(["view", str(path), "-o", str(tmp_path / "run.json")]) == 0
        trace = Trace.load(tmp_path / "run.json")
        told.append({fact.evidence.en.partition(" ")[0] for fact in trace})
    assert told == [{"recorded", "contradicts", "model"}, {"model"}]


def test_present_makes_a_lecture_of_a_scenario_and_opens_it(
    scenario, tmp_path, monkeypatch, opened, capsys
):
    monkeypatch.chdir(tmp_path)
    commands = "kill coordinator\n---\n\nrestart coordinator\n---\n"
    text = f"# Title.\n# The story.\nsystem kafka\n# It dies.\n{commands}"
    scenario.write_text(text, "utf-8")
    assert main(["view", str(scenario), "--present"]) == 0
    page = tmp_path / "basic-commit.html"
    assert opened == [page.as_uri()]
    meta = payload(page.read_text("utf-8"))["meta"]
    assert meta["lecture"] == {
        "story": "The story.",
        "scenes": [[1, "It dies."], [4, RESTARTED]],
        "following": "",
        "after": False,
    }
    assert meta["step"] == 0 and "Page Down" in meta["words"]["begin"]
    assert main(["view", str(scenario), "-o", "run.json"]) == 0
    assert main(["view", "run.json", "--present", "-o", "other.html"]) == 0
    assert payload(Path("other.html").read_text("utf-8"))["meta"]["lecture"]["scenes"] == []
    assert len(opened) == 1, "with a name of its own it is only written"
    assert main(["view", str(scenario), "--present", "-o", "x.svg"]) == 2
    assert "end x.svg in .html or .png" in capsys.readouterr().err


def payload(page):
    """What a page plays."""
    found = re.search(r'class="payload">([^<]+)<', page)
    return json.loads(zlib.decompress(base64.b64decode(found[1])))


def test_panels_scale_language_and_theme_are_the_pictures(scenario, tmp_path):
    plain, other = tmp_path / "plain.svg", tmp_path / "other.svg"
    assert main(["view", str(scenario), "-o", str(plain)]) == 0
    words = ["--panels", "space-time,logs", "--scale", "2", "--lang", "zh", "--theme", "dark"]
    assert main(["view", str(scenario), "-o", str(other), *words]) == 0
    one, two = (ET.fromstring(path.read_text("utf-8")) for path in (plain, other))
    ratio = [float(x.attrib["width"]) / float(x.attrib["viewBox"].split()[2]) for x in (one, two)]
    assert ratio == pytest.approx([1, 2])
    assert "Always true so far" in plain.read_text("utf-8")
    text = other.read_text("utf-8")
    assert "color-scheme:dark" in text and "第 " in text and "始终成立" not in text
    page = tmp_path / "page.html"
    assert main(["view", str(scenario), "-o", str(page), "--theme", "dark"]) == 0
    assert '<body data-jp-theme-light="false"' in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-o", "x.pdf"], "cannot write x.pdf: its ending says what it becomes (.html: a page"),
        (["-o", "x"], "cannot write x: its ending says"),
        (["-o", "nowhere/at/all.svg"], "cannot write nowhere/at/all.svg: No such file"),
        (["-o", "x.svg", "--step", "999"], "--step 999: expected a step from 0 to"),
        (["-o", "x.svg", "--step", "-1"], "--step -1: expected a step from 0 to"),
        (["-o", "x.svg", "--step", "all"], "--step all: expected a step from 0 to"),
        (["-o", "x.gif", "--step", "12"], "--step 12: a .gif shows several steps, as in --step 3-"),
        (["-o", "x.gif", "--step", "9-3"], "--step 9-3: expected two steps from 0 to"),
        (["-o", "x.gif", "--scale", "4"], "and a .gif holds at most 2000: use --scale "),
        (["-o", "x.svg", "--panels", "logz"], "no panel 'logz'; did you mean logs?"),
        (["-o", "x.svg", "--scale", "9"], "scale=9.0: 1 is normal"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(
    words, says, scenario, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(["view", str(scenario), *words]) == 2
    said = capsys.readouterr().err
    assert says in said and len(said.splitlines()) == 1
    assert not list(tmp_path.glob("x*"))


def test_the_scale_that_is_advised_fits(scenario, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(doctor, "chromium", lambda: "")
    command = ["view", str(scenario), "-o", str(tmp_path / "x.gif"), "--step", "0-3", "--scale"]
    assert main([*command, "4"]) == 2
    (advised,) = re.findall(r"use --scale (\S+),", capsys.readouterr().err)
    assert main([*command, advised]) == 2
    assert "needs Chromium" in capsys.readouterr().err
    assert main([*command, f"{float(advised) + 0.1:.1f}"]) == 2
    assert "use --scale" in capsys.readouterr().err


@pytest.mark.parametrize(("kind", "steps"), [("png", ["--step", "3"]), ("gif", [])])
def test_without_chromium_one_line_says_what_to_install(
    kind, steps, scenario, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(doctor, "chromium", lambda: "")
    out = tmp_path / f"x.{kind}"
    assert (
        main(["view", str(scenario), "-o", str(out), "--step", "0-3"[: 3 if kind == "gif" else 1]])
        == 2
    )
    said = capsys.readouterr().err
    assert (
        "needs Chromium, which is missing here: the browser tests need it; Debian: apt-get "
        "install chromium" in said
    )
    assert "or write a .svg or .html" in said and len(said.splitlines()) == 1
    assert not out.exists()


@pytest.mark.needs("chromium", "driver")
def test_a_slide_is_16_to_9_and_shows_the_telling_step(scenario, tmp_path):
    trace = open_scenario(scenario).run.trace
    step = find_telling(trace)
    assert trace.facts[step - 1].glyph in TELLING and step < len(trace)
    telling, named, other = (tmp_path / f"{name}.png" for name in ("telling", "named", "other"))
    typed("view", scenario, "--present", "-o", telling)
    typed("view", scenario, "--present", "-o", named, "--step", step)
    typed("view", scenario, "--present", "-o", other, "--step", 3)
    size = telling.read_bytes()[16:24]
    assert [int.from_bytes(size[:4]), int.from_bytes(size[4:])] == [1920, 1080]
    assert telling.read_bytes() == named.read_bytes() != other.read_bytes()


@pytest.mark.needs("chromium", "driver")
def test_a_png_is_the_step_in_the_theme_asked_for(scenario, tmp_path, browser):
    sizes, grounds = [], []
    for words in ([], ["--theme", "dark", "--scale", "1"]):
        out = tmp_path / "x.png"
        typed("view", scenario, "-o", out, "--step", 12, *words)
        width, height, corner = pixels_of(browser, tmp_path, out)
        sizes.append((width, height))
        grounds.append(corner)
    assert sizes[0][0] == pytest.approx(2 * sizes[1][0], abs=2)
    assert grounds == [[255, 255, 255], [0x15, 0x18, 0x1C]]


def typed(*words):
    """The command in a process of its own: one process has one Playwright."""
    subprocess.run([sys.executable, "-m", "mqlab", *map(str, words)], check=True, timeout=300)


def pixels_of(browser, folder, picture):
    """Width, height and the corner's colour, as a browser sees a picture."""
    page = blank(browser, folder)
    found = page.evaluate(
        """async (png) => {
          const image = new Image();
          image.src = `data:image/png;base64,${png}`;
          await image.decode();
          const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
          canvas.drawImage(image, 0, 0);
          return [image.width, image.height, [...canvas.getImageData(2, 2, 1, 1).data].slice(0, 3)];
        }""",
        base64.b64encode(picture.read_bytes()).decode(),
    )
    page.close()
    return found


def blank(browser, folder):
    """A page that may decode pictures: a file counts as a secure place."""
    (folder / "blank.html").write_text("<!doctype html><title>blank</title>", "utf-8")
    page = browser.new_page()
    page.goto((folder / "blank.html").as_uri())
    return page


@pytest.mark.needs("chromium", "driver")
def test_a_gif_has_a_frame_for_each_visible_step_and_a_pause_at_its_end(scenario, tmp_path):
    out, data = tmp_path / "x.gif", tmp_path / "x.json"
    assert main(["view", str(scenario), "-o", str(data)]) == 0
    typed("view", scenario, "-o", out, "--step", "0-9")
    facts = Trace.load(data).facts
    visible = [n for n in range(10) if not n or not facts[n - 1].fold]
    film = Image.open(out)
    times, titles = [], []
    for frame in ImageSequence.Iterator(film):
        times.append(frame.info["duration"])
        picture = frame.convert("RGB")
        titles.append([picture.getpixel((x, 33)) for x in range(200)])
    assert len(times) == len(visible) < 10
    letters = [len(facts[n - 1].why.en) if n else 0 for n in visible]
    assert times[:-1] == [10 * ((900 + 22 * n) // 10) for n in letters[:-1]]
    assert times[-1] > 4_000
    typed("view", scenario, "-o", out, "--step", "0-3", "--seconds", "2")
    film = Image.open(out)
    shorter = [frame.info["duration"] for frame in ImageSequence.Iterator(film)]
    assert 1_900 < sum(shorter) <= 2_000 and shorter[-1] > 4 * shorter[0]
    assert all(title == titles[0] for title in titles), "what stays is drawn once, and stays"
    reds = [red for red, _, _ in titles[0]]
    assert max(reds) == 255 and min(reds) < 60


def test_frames_of_a_gif_share_their_colours_and_keep_what_stays():
    red, green, blue = (tuple(255 * (i == k) for i in range(3)) for k in range(3))
    shots = []
    for middle in (green, blue):
        picture = Image.new("RGB", (3, 2), red)
        picture.putpixel((1, 1), middle)
        picture.save(png := BytesIO(), "PNG")
        shots.append(png.getvalue())
    film = Image.open(BytesIO(gif_of(shots, [507, 1200])))
    assert (film.n_frames, film.info["loop"], film.size) == (2, 0, (3, 2))
    for at, middle, duration in ((0, green, 500), (1, blue, 1200)):
        film.seek(at)
        assert film.info["duration"] == duration
        row = [film.convert("RGB").getpixel((x, 1)) for x in range(3)]
        assert row == [red, middle, red]


def test_of_many_colours_a_gif_has_the_most_frequent():
    picture = Image.new("RGB", (300, 2), (9, 9, 9))
    for x in range(300):
        picture.putpixel((x, 0), (x % 256, x * 7 % 256, 255 - x % 256))
    picture.save(png := BytesIO(), "PNG")
    film = Image.open(BytesIO(gif_of([png.getvalue()], [100]))).convert("RGB")
    assert film.getpixel((0, 1)) == (8, 8, 8) and film.getpixel((299, 1)) == (8, 8, 8)
    assert len(film.getcolors()) <= 256


def test_open_shows_the_run_of_a_token_in_a_page(tmp_path, monkeypatch, capsys, opened):
    play = Play(system("kafka partitions=1"))
    play.do("kill coordinator")
    monkeypatch.chdir(tmp_path)
    assert main(["open", play.token]) == 0
    assert opened == [(tmp_path / "run.html").as_uri()]
    assert "wrote run.html" in capsys.readouterr().out
    assert main(["open", play.token, "-o", "run.svg"]) == 0
    assert "killed" in ET.fromstring((tmp_path / "run.svg").read_text("utf-8")).attrib["aria-label"]
    assert main(["open", play.token, "--no-browser"]) == 0
    assert len(opened) == 1
    assert main(["open", "nonsense"]) == 2
    assert "this is not a token: paste the whole text" in capsys.readouterr().err


def test_a_run_that_is_too_large_to_draw_is_one_sentence(tmp_path, capsys):
    crowd = ",".join(f"r{n}" for n in range(100))
    token = Play(system(f"kafka partitions=100 readers={crowd}")).token
    assert main(["open", token, "-o", str(tmp_path / "run.html")]) == 2
    said = capsys.readouterr().err
    assert "this scenario cannot be drawn: step 0 has " in said
    assert len(said.splitlines()) == 1


def test_open_says_what_changed_since_a_token_was_made(tmp_path, monkeypatch, capsys):
    play = Play(system("kafka partitions=1"))
    play.do("kill coordinator")
    with monkeypatch.context() as then:
        then.setattr("mqlab.kernel.play.digest", lambda system: "0" * 12)
        made = play.token
    out = str(tmp_path / "run.json")
    assert main(["open", made, "-o", out, "--lang", "zh"]) == 0
    assert "另一版本的引擎" in capsys.readouterr().out
    assert re.search("killed", Trace.load(out).narrate())


ORDERS = [
    str(SCENARIOS.parent / name)
    for name in ("kafka/one-order.scn", "patterns/outbox-one-order.scn")
]


def test_scenarios_with_equally_many_blocks_play_on_one_page(tmp_path, capsys, opened):
    out = tmp_path / "both.html"
    assert main(["view", ORDERS[0], "--compare", ORDERS[1], "-o", str(out), "--step", "8"]) == 0
    assert "2 scenarios" in capsys.readouterr().out and opened == []
    page = out.read_text("utf-8")
    assert "Kafka: records and a position" in page and "Outbox: a row and its message" in page


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["nowhere.scn"], "no file nowhere.scn: give a .scn file, or the name of a scenario"),
        ([str(SCENARIOS / "basic-commit.scn")], "differ in their number of blocks: "),
        ([ORDERS[1], "-o", "both.png"], "--compare makes a page: end its name in .html"),
        ([ORDERS[1], "--present"], "leave out --present"),
        ([ORDERS[1]] * 4, "5 runs to compare: there is room for two to four"),
    ],
)
def test_what_cannot_be_compared_is_said(more, says, capsys):
    assert main(["view", ORDERS[0], "--compare", *more]) == 2
    assert says in capsys.readouterr().err
