"""Maps and timeline: what is drawn is what the facts say, legible, nothing over another."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from mqlab_widgets.scene import Scene

from mqlab.kernel import LANGUAGES, speaking
from mqlab.lessons.atlas.brokers import BROKERS, KINDS, NOTHING
from mqlab.lessons.atlas.data_flow import CLIENTS, data_flow
from mqlab.lessons.atlas.map_panel import (
    COLUMNS,
    EDGE,
    ICON,
    LEFT,
    broker_map,
    broker_maps,
    map_table,
)
from mqlab.lessons.atlas.pictures import WIDTH, Fold, Picture, measure_text
from mqlab.lessons.atlas.timeline import PRODUCTS, UNDATED, timeline, timeline_table
from mqlab.registry.tables import columns
from tests.lessons.atlas.boxes import find_overlaps

PICTURES: dict[str, Callable[[], Picture]] = {
    **{name: partial(broker_map, name) for name in BROKERS},
    "timeline": timeline,
    **{f"flow-{client}": partial(data_flow, client) for client in CLIENTS},
}
#: two words of English in a row, which are no name
ENGLISH = re.compile(r"(?<![-_.])\b[a-z]{2,} [a-z]{2,}\b")


@pytest.fixture(params=[f"{name} {lang}" for name in PICTURES for lang in LANGUAGES])
def picture(request: pytest.FixtureRequest) -> Iterator[Picture]:
    """Each picture in both languages."""
    name, lang = request.param.split()
    with speaking(lang):
        yield PICTURES[name]()


def words(picture: Picture) -> str:
    """All the text of the SVG, as a browser would read it."""
    return " ".join(filter(None, (e.text for e in ET.fromstring(picture.svg()).iter())))


def drawn(picture: Picture) -> list[str]:
    return [box.text for box in picture.boxes()]


@pytest.mark.parametrize("name", BROKERS)
def test_a_map_and_the_fold_below_it_fit_a_pane_of_jupyterlab(name: str) -> None:
    assert broker_map(name).scene.height <= 679 - 43, "at 1280×800 an output has 679 px"


# --- facts --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BROKERS)
def test_every_item_is_drawn_and_listed(name: str) -> None:
    picture, table = broker_map(name), map_table(name)
    # A phrase that was broken over two lines is still there, whole.
    flat, texts = words(picture), drawn(picture)
    for node in BROKERS[name].nodes:
        assert node.name in texts
        assert node.role in flat
        for item in node.items:
            assert item.name in texts
            assert item.holds in flat, item
            line = next(x for x in table.splitlines() if x.startswith(node.name) and item.name in x)
            assert item.holds in line
            assert ("*" in line) == item.part
        for _, between in node.below:
            assert between in texts
    assert len(table.splitlines()) == 3 + sum(len(n.items) for n in BROKERS[name].nodes)
    assert BROKERS[name].left_out in flat and BROKERS[name].left_out in table


def test_nothing_was_shortened(picture: Picture) -> None:
    own = [item.name for broker in BROKERS.values() for n in broker.nodes for item in n.items]
    own += [item.holds for broker in BROKERS.values() for n in broker.nodes for item in n.items]
    own += [node.role for broker in BROKERS.values() for node in broker.nodes]
    for text in drawn(picture):
        assert not text.endswith("…") or any(text in whole for whole in own), text


def test_kinds_and_names_are_known() -> None:
    for broker in BROKERS.values():
        for node in broker.nodes:
            names = [item.name for item in node.items if item.name != NOTHING]
            assert len(names) == len(set(names))
            assert {item.kind for item in node.items} <= set(KINDS)
    with pytest.raises(ValueError, match="there are: kafka, rocketmq, pulsar"):
        broker_map("zookeeper")


def test_kafka_has_no_zookeeper_and_pulsar_may() -> None:
    assert "ZooKeeper" not in map_table("kafka")
    assert "ZooKeeper" in {word for n in BROKERS["pulsar"].nodes for word in n.role.split(",")}


def test_the_timeline_is_sorted() -> None:
    firsts = [product.events[0].year for product in PRODUCTS]
    assert firsts == sorted(firsts)
    for product in PRODUCTS:
        assert list(product.events) == sorted(product.events)
    when = [line.split()[0] for line in timeline_table().splitlines()[2:]]
    dated = [w for w in when if w != "–"]
    assert when == [*dated, *["–"] * len(UNDATED)]
    assert [w[:4] for w in dated] == sorted(w[:4] for w in dated)


def test_the_timeline_names_everybody() -> None:
    named = (
        "ActiveMQ RabbitMQ ZeroMQ Kafka MetaMQ RocketMQ Pulsar TubeMQ CKafka TDMQ CMQ CDMQ Hippo"
    )
    shown, table = words(timeline()), timeline_table()
    for name in named.split():
        assert name in shown and name in table
    assert table.count("transactions") == 3


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_and_its_table_are_told_in_chinese(name: str) -> None:
    with speaking("zh"):
        picture = PICTURES[name]()
        told = [*drawn(picture), *picture.text.splitlines(), picture.alt]
        html = picture.html()
    assert "用表格表示" in html
    names = {"entry log", "commit log", "managed ledgers", "commit marker"}
    said = [part for text in told for part in ENGLISH.findall(text) if part not in names]
    assert said == []


# --- look ---------------------------------------------------------------------------------


def test_no_text_over_another_and_none_outside(picture: Picture) -> None:
    boxes = picture.boxes()
    assert boxes and not find_overlaps(picture)
    for box in boxes:
        assert box.x >= 0 and box.x + box.width <= picture.scene.width, box
        assert box.y >= 0 and box.y + box.height <= picture.scene.height, box


def test_they_fit_into_an_output_beside_the_left_bar(picture: Picture) -> None:
    """At 1280 px JupyterLab leaves 828 px to an output while its left bar is open."""
    assert picture.scene.width <= 828


def test_no_name_reaches_into_the_next_column() -> None:
    ends = [*LEFT[1:], WIDTH - EDGE]
    for broker in BROKERS.values():
        for node in broker.nodes:
            for item in node.items:
                column = next(i for i, (_, kinds) in enumerate(COLUMNS) if item.kind in kinds)
                wide = measure_text(item.name, "name ours" if item.part else "name")
                assert LEFT[column] + ICON + wide < ends[column] - 4, item


def test_all_maps_are_one_output_and_the_first_is_open() -> None:
    bundle = broker_maps()._repr_mimebundle_()
    assert bundle["text/html"].count("<details open>") == 1
    assert bundle["text/html"].index("<details open>") < bundle["text/html"].index("Kafka")
    for name in BROKERS:
        assert map_table(name) in bundle["text/plain"]
    assert bundle["text/html"].count("the same as a table") == len(BROKERS)


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_image_follows_jupyterlabs_theme(browser: Any, theme: str) -> None:
    """An `<img>` sees no CSS of its page; it is told the theme by color-scheme."""
    page = browser.new_page(viewport={"width": 1000, "height": 600}, color_scheme="light")
    html = timeline()._repr_mimebundle_()["text/html"]
    page.set_content(f'<body data-jp-theme-light="{str(theme == "light").lower()}">{html}</body>')
    ground = page.evaluate("""async () => {
      const img = document.querySelector("img");
      await img.decode();
      return getComputedStyle(img).colorScheme;
    }""")
    page.close()
    assert ground == theme


def test_it_is_an_image_with_its_text_beside_it(picture: Picture) -> None:
    bundle = picture._repr_mimebundle_()
    html = bundle["text/html"]
    assert re.search(r'<img src="data:image/svg\+xml;base64,[^"]+" alt="[^"]{40,}">', html)
    data = re.search(r"base64,([^\"]+)", html)
    assert data and base64.b64decode(data[1]).decode() == picture.svg()
    assert bundle["text/plain"] == picture.text == repr(picture)
    assert "<script" not in html and "http:" not in picture.svg().replace("http://www.w3.org", "")


def test_text_is_data() -> None:
    scene = Scene(200, 40)
    scene.text("t", 10, 20, '<b> & "quoted"', "plain")
    picture = Picture(scene, 'alt with "quotes" & <tags>', "text")
    assert '<b> & "quoted"' in words(picture)
    svg = ET.fromstring(picture.svg())
    assert svg.attrib["aria-label"] == 'alt with "quotes" & <tags>'
    html = picture._repr_mimebundle_()["text/html"]
    assert 'alt="alt with &quot;quotes&quot; &amp; &lt;tags&gt;"' in html


def test_boxes_know_groups_and_anchors() -> None:
    scene = Scene(200, 40)
    with scene.group("g", at=(100, 5)):
        scene.text("t", 10, 20, "abc", "sub end")
    (box,) = Picture(scene, "alt", "text").boxes()
    assert box.x + box.width == pytest.approx(110)
    assert box.width == pytest.approx(measure_text("abc", "sub"))


def test_columns_count_chinese_twice() -> None:
    assert columns([("a", "b"), ("中文", "x"), ("abc", "y")]).splitlines() == [
        "a     b",
        "----  -",
        "中文  x",
        "abc   y",
    ]


def test_a_fold_is_text_and_its_text_is_data() -> None:
    fold = Fold("a < b", "1 < 2 & 3")
    bundle = fold._repr_mimebundle_()
    assert bundle["text/plain"] == repr(fold) == "1 < 2 & 3"
    assert bundle["text/html"].startswith("<details><summary>a &lt; b</summary><pre style=")
    assert ">1 &lt; 2 &amp; 3</pre></details>" in bundle["text/html"]
    assert "font-family:monospace" in bundle["text/html"]  # or no column stands
