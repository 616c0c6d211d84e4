"""Scenes and encoded elements: what goes in comes out again, at every step, in the right order."""

from __future__ import annotations

import base64
import json
import random
import zlib

import pytest
from mqlab_widgets.encoding import LIMIT, base64_of, encode, pack
from mqlab_widgets.scene import Scene
from mqlab_widgets.views import PANELS, window

from .decode import decode, plain
from .sample import long_trace, sample


@pytest.mark.parametrize("name", PANELS)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_panel_comes_out_as_it_went_in(name: str, lang: str) -> None:
    for trace in (sample(), long_trace(120)):
        if not PANELS[name].shows(trace):
            continue
        scenes = [PANELS[name].view(trace, step, lang=lang) for step in range(len(trace) + 1)]
        data = json.loads(json.dumps(encode({name: scenes})))
        for step, scene in enumerate(scenes):
            assert decode(data, name, step) == plain(scene.nodes), f"step {step}"


def random_scene(dice: random.Random) -> Scene:
    scene = Scene()
    keys = [f"k{i}" for i in range(12)]
    dice.shuffle(keys)
    for key in keys[: dice.randrange(8)]:
        if dice.random() < 0.3:
            with scene.group(key, dice.choice(["a", "b"])):
                for i in dice.sample(range(5), dice.randrange(5)):
                    scene.text(f"{key}:{i}", dice.randrange(3), 0, dice.choice(["", "x"]), "t")
        elif dice.random() < 0.5:
            scene.rect(key, dice.randrange(3), 0, 1, 1, "r", rx=dice.randrange(2))
        else:
            scene.circle(key, dice.randrange(3), 0, 1, "c")
    return scene


def test_elements_that_move_among_their_siblings_come_out_in_order() -> None:
    dice = random.Random(7)
    for _ in range(60):
        scenes = [random_scene(dice) for _ in range(12)]
        data = encode({"p": scenes})
        for step, scene in enumerate(scenes):
            assert decode(data, "p", step) == plain(scene.nodes)


def test_a_key_that_is_there_twice_raises() -> None:
    scene = Scene()
    scene.rect("box", 0, 0, 1, 1, "a")
    with pytest.raises(ValueError, match="'box' is in this scene twice"):
        scene.text("box", 0, 0, "again", "b")
    part = scene.seal()
    with pytest.raises(ValueError, match="'box'"):
        scene.use(part)


def test_too_many_live_elements_say_which_panel_and_what_to_do() -> None:
    scene = Scene()
    for i in range(LIMIT + 1):
        scene.circle(f"{i}", 0, 0, 1, "dot")
    with pytest.raises(ValueError, match=r"1501 live elements.*'crowd'.*window\(step"):
        encode({"few": [Scene()], "crowd": [scene]})


def test_a_variant_counts_instead_of_its_panel_not_beside_it() -> None:
    scene = Scene()
    for i in range(LIMIT - 1):
        scene.circle(f"{i}", 0, 0, 1, "dot")
    encode({"p": [scene], "p/all": [scene]})


def test_what_stays_the_same_costs_nothing() -> None:
    trace = long_trace(60)
    scenes = [PANELS["lights"].view(trace, step) for step in range(61)]
    panel = encode({"lights": scenes})["panels"][0]
    assert set(panel["tl"]) == {0}
    assert set(panel["len"]) == {61}


def test_a_short_payload_is_json_and_a_long_one_zlib_of_it() -> None:
    data = encode({"p": [Scene()]})
    assert json.loads(pack(data)) == data
    assert json.loads(zlib.decompress(base64.b64decode(base64_of(data)))) == data
    long = {**data, "said": "word " * 20_000}
    assert json.loads(zlib.decompress(pack(long))) == long


def test_a_window_keeps_the_step_inside_and_stops_at_the_ends() -> None:
    assert window(0, 5, 100) == range(0, 5)
    assert window(99, 5, 100) == range(95, 100)
    assert window(1, 5, 3) == range(0, 3)
    for step in range(100):
        assert step in window(step, 7, 100)
        assert len(window(step, 7, 100)) == 7
