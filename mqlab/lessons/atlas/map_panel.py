"""The map panel: a broker's nodes as bands, what they keep in three columns.

Memory, topics and logs, disk are in the same column for every broker, so that two maps
can be compared line by line. Blue and bold takes part in a transaction.
"""

from __future__ import annotations

from mqlab_widgets.scene import Scene
from mqlab_widgets.widths import wrap

from ...kernel import Words
from ...registry.tables import columns, in_words
from .brokers import BROKERS, KINDS, NOTHING, Broker, Item, Node
from .pictures import WIDTH, Folder, Picture, measure_text

COLUMNS = (
    ("in memory", ("memory",)),
    ("topics and logs", ("topic", "internal", "log")),
    ("on disk", ("file",)),
)
LEFT = (128, 324, 568)  # where each column begins
EDGE, TOP = 12, 62
ICON, LINE, PAD, GAP = 20, 13, 8, 5
BETWEEN = 22  # the arrows between two nodes
LEGEND = 32
BLUE = "blue: part of a transaction"
MAP = Words("Map of {name}. {nodes}.")
NOT_DRAWN = Words("Not drawn: {what}.")
NOT_LISTED = Words("Not listed: {what}.")


def broker_map(name: str) -> Picture:
    """The map of "kafka", "rocketmq" or "pulsar"."""
    broker = _broker(name)
    scene = Scene(WIDTH, 0)
    scene.text("title", EDGE, 22, f"{broker.name} {in_words(broker.version)}", "heading")
    for i, (column, _) in enumerate(COLUMNS):
        scene.text(f"column{i}", LEFT[i], 46, in_words(column), "note")
    y: float = TOP - 8
    for node in broker.nodes:
        y = _node(scene, node, y)
        y = _between(scene, node, y) if node.below else y + GAP
    scene.height = _legend(scene, broker, y + 8)
    return Picture(scene, _alt(broker), map_table(name))


def broker_maps() -> Folder:
    """All maps, the first open and the others behind a fold."""
    return Folder({broker.name: broker_map(name) for name, broker in BROKERS.items()})


def map_table(name: str) -> str:
    """The same as a plain-text table, a line an item; * takes part in a transaction."""
    rows: list[tuple[str, ...]] = [("node", "where", "", "what", "holds")]
    for node in _broker(name).nodes:
        for item in node.items:
            where = "your topic" if item.kind == "topic" else KINDS[item.kind].partition(":")[0]
            star = "*" if item.part else ""
            rows.append((node.name, where, star, item.name, item.holds))
    return f"{columns(rows)}\n{NOT_LISTED(what=in_words(_broker(name).left_out))}"


def _broker(name: str) -> Broker:
    if name not in BROKERS:
        raise ValueError(f"no map of {name!r}; there are: {', '.join(BROKERS)}")
    return BROKERS[name]


def _alt(broker: Broker) -> str:
    """The picture in a few words; the table beside it says all."""
    nodes = "; ".join(
        f"{in_words(node.name)}: " + ", ".join(in_words(item.name) for item in node.items)
        for node in broker.nodes
    )
    return str(MAP(name=f"{broker.name} {in_words(broker.version)}", nodes=nodes))


def _node(scene: Scene, node: Node, top: float) -> float:
    """Draw one node as a band that begins at y = `top`, its items in columns by kind (COLUMNS), and
    return the y at which the band ends."""
    role = wrap(in_words(node.role), LEFT[0] - EDGE - 30, size=10.5, lines=3)
    bottoms = [top + PAD + 11 + len(role) * LINE]
    for i, (_, kinds) in enumerate(COLUMNS):
        y = top + PAD
        room_px = (LEFT[i + 1] if i + 1 < len(LEFT) else WIDTH - EDGE) - LEFT[i] - ICON - 8
        for item in (item for item in node.items if item.kind in kinds):
            y = _item(scene, f"{node.name}/{item.name}", item, LEFT[i], y, room_px)
        bottoms.append(y - GAP)
    bottom = max(bottoms) + PAD
    scene.rect(f"{node.name}/box", EDGE, top, WIDTH - 2 * EDGE, bottom - top, "box", rx=8)
    scene.text(f"{node.name}/name", EDGE + 12, top + PAD + 11, in_words(node.name), "heading")
    for i, line in enumerate(role):
        scene.text(f"{node.name}/role{i}", EDGE + 12, top + PAD + 11 + (i + 1) * LINE, line, "sub")
    return bottom


def _item(scene: Scene, key: str, item: Item, x: float, y: float, room_px: float) -> float:
    """Icon, name, and what it holds; returns where the next one begins."""
    if item.name == NOTHING:
        scene.text(f"{key}/name", x + ICON, y + 10, in_words(item.name), "note")
    else:
        _icon(scene, key, item.kind, item.part, x, y + 1)
        cls = "mono ours strong" if item.part else "mono"
        scene.text(f"{key}/name", x + ICON, y + 10, in_words(item.name), cls)
    lines = wrap(in_words(item.holds), room_px, 11, 2)
    for i, line in enumerate(lines):
        scene.text(f"{key}/holds{i}", x + ICON, y + 10 + (i + 1) * LINE, line, "note")
    return y + (len(lines) + 1) * LINE + GAP


def _icon(scene: Scene, key: str, kind: str, part: bool, x: float, y: float) -> None:
    """Draw an item's icon, a shape for each kind; filled and blue where it takes part in a
    transaction (`part`)."""
    fill = ("hand " if part else "hollow ") + ("t1" if part else "t0")
    match kind:
        case "memory":
            scene.circle(f"{key}/icon", x + 6, y + 5, 5, f"{fill} dashes")
        case "file":
            page = f"M{x + 1.5},{y - 1}h6l3.5,3.5v8.5h-9.5z"
            scene.path(f"{key}/icon", page, fill)
            scene.path(f"{key}/fold", f"M{x + 7.5},{y - 1}v3.5h3.5", fill)
        case _:
            # Three cells of a log; an internal topic has a lid, a log without a topic is dashed.
            dashes = " dashes" if kind == "log" else ""
            for i in range(3):
                scene.rect(f"{key}/icon{i}", x + 4.5 * i, y + 1, 4.5, 9, fill + dashes)
            if kind == "internal":
                scene.rect(f"{key}/lid", x, y - 2, 13.5, 3, fill)


def _between(scene: Scene, node: Node, y: float) -> float:
    """The arrows to the node below, each with its words."""
    x: float = LEFT[0] + 6
    for i, (way, english) in enumerate(node.below):
        words = in_words(english)
        key = f"{node.name}/below{i}"
        top, bottom = y + 4, y + BETWEEN - 4
        tip, back = (bottom, -6) if way == "down" else (top, 6)
        scene.line(f"{key}/line", x, top + 4 * (way == "up"), x, bottom - 4 * (way != "up"), "stem")
        scene.path(f"{key}/tip", f"M{x},{tip}l-4,{back}h8z", "point")
        scene.text(f"{key}/words", x + 12, y + BETWEEN / 2 + 4, words, "sub")
        x += 12 + measure_text(words, "sub") + 28
    return y + BETWEEN


def _legend(scene: Scene, broker: Broker, y: float) -> float:
    """What the shapes mean and what is not drawn; returns the picture's height."""
    x: float = EDGE + 4
    for kind, english in KINDS.items():
        words = in_words(english)
        _icon(scene, f"legend/{kind}", kind, False, x, y)
        scene.text(f"legend/{kind}/words", x + ICON, y + 10, words, "sub")
        x += ICON + measure_text(words, "sub") + 16
    _icon(scene, "legend/part", "topic", True, x, y)
    scene.text("legend/part/words", x + ICON, y + 10, in_words(BLUE), "sub")
    left_out = str(NOT_DRAWN(what=in_words(broker.left_out)))
    scene.text("left out", EDGE + 4, y + LEGEND, left_out, "sub")
    return y + LEGEND + 10
