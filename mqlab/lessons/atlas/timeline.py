"""How message queues came about: a lane a product, in the order of their first years.

Only what a source backs is on the axis (project pages, proposals and release notes);
products whose years we could not check are named below it. Blue: transactions arrive.
"""

from __future__ import annotations

from dataclasses import dataclass

from mqlab_widgets.scene import Scene

from ...kernel import Words
from ...registry.tables import columns, in_words
from .pictures import WIDTH, Picture, measure_text


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """`month` 0: the year is all we know. `transactions`: they arrive with it."""

    year: int
    month: int
    what: str
    transactions: bool = False

    @property
    def when(self) -> str:
        return f"{self.year}-{self.month:02d}" if self.month else str(self.year)


@dataclass(frozen=True, slots=True)
class Product:
    """`until`: the year in which something else took its place; 0 while it lives."""

    name: str
    who: str
    events: tuple[Event, ...]
    until: int = 0


PRODUCTS = (
    Product("ActiveMQ", "LogicBlaze, now Apache", (Event(2004, 0, "a JMS broker in Java"),)),
    Product("RabbitMQ", "Rabbit Technologies", (Event(2007, 0, "an AMQP broker in Erlang"),)),
    Product("ZeroMQ", "iMatix", (Event(2007, 5, "a library: sockets, no broker"),)),
    Product("Kafka", "LinkedIn, now Apache",
        (Event(2011, 0, "early: open source, in Scala"), Event(2012, 10, "leaves the incubator"),
         Event(2017, 6, "0.11: transactions", transactions=True),
         Event(2025, 3, "4.0: no ZooKeeper"))),
    Product("MetaMQ", "Alibaba", (Event(2011, 0, "MetaQ 1, with Kafka's ideas, in Java"),),
            until=2012),
    Product("RocketMQ", "Alibaba, now Apache",
            (Event(2012, 0, "what MetaQ 3 became"), Event(2016, 0, "to Apache"),
             Event(2018, 7, "4.3.0: transactions", transactions=True))),
    Product("TubeMQ", "Tencent, now Apache InLong",
            (Event(2013, 0, "in use at Tencent"), Event(2019, 0, "open source, to Apache"))),
    Product("Pulsar", "Yahoo, now Apache",
        (Event(2016, 9, "open source"), Event(2021, 6, "2.8.0: transactions", transactions=True))),
)  # fmt: skip

#: Tencent's others, whose years we have not checked
UNDATED = (
    ("CMQ", "Tencent Cloud's own queue"),
    ("CKafka", "speaks Kafka's protocol"),
    ("TDMQ", "built on Pulsar"),
    ("CDMQ", "only its name is known to us"),
    ("Hippo", "only its name is known to us"),
)

UNCHECKED = Words("Also Tencent's, years not checked: {names}.")
TOLD = Words("Timeline. {events}. Years not checked: {names}.")
EDGE, AXIS = 16, 120
RIGHT = WIDTH - EDGE
FIRST, LAST = 2003, 2026
TOP, ROW, LINE, BOTTOM = 40, 26, 14, 56


def timeline() -> Picture:
    """Draw the timeline of message queues; the picture's `text` is `timeline_table()`."""
    scene = Scene(WIDTH, 0)
    scene.text("title", EDGE, 20, in_words("Message queues since 2004"), "heading")
    y: float = TOP
    # drawn later, as the lines of the years are below them and need their height
    lanes = Scene()
    for product in PRODUCTS:
        y = _lane(lanes, product, y)
    _years(scene, y)
    scene.use(lanes.seal())
    names = ", ".join(name for name, _ in UNDATED)
    scene.text("undated", EDGE, y + 44, str(UNCHECKED(names=names)), "note")
    scene.height = y + BOTTOM
    events = "; ".join(
        f"{p.name}: " + ", ".join(f"{e.when} {in_words(e.what)}" for e in p.events)
        for p in PRODUCTS
    )
    return Picture(scene, str(TOLD(events=events, names=names)), timeline_table())


def timeline_table() -> str:
    """A line an event, oldest first, as a plain-text table."""
    rows: list[tuple[str, ...]] = [("when", "product", "what", "who")]
    dated = [(event, p) for p in PRODUCTS for event in p.events]
    for event, product in sorted(dated, key=lambda pair: (pair[0].year, pair[0].month)):
        rows.append((event.when, product.name, event.what, product.who))
    rows += [("–", name, what, "Tencent; year not checked") for name, what in UNDATED]
    return columns(rows)


def _at(event: Event) -> float:
    """An event whose month we do not know is at the beginning of its year."""
    years = event.year + max(event.month - 1, 0) / 12 - FIRST
    return AXIS + years * (RIGHT - AXIS) / (LAST - FIRST)


def _lane(scene: Scene, product: Product, y: float) -> float:
    """Draw a product's line at height `y`, with its name and events, and return the y at which the
    lane ends. Labels that would overlap go one line down; events with transactions are marked."""
    middle = y + 8
    scene.text(f"{product.name}/name", EDGE, y + 12, product.name, "heading")
    start_x = _at(product.events[0])
    end = _at(Event(product.until, 0, "")) if product.until else RIGHT
    scene.line(f"{product.name}/line", start_x, middle, end, middle, "stem")
    line_ends: list[float] = []
    for i, event in enumerate(product.events):
        key, x = f"{product.name}/{i}", _at(event)
        words = f"{event.when}  {in_words(event.what)}"
        cls = "sub ours strong" if event.transactions else "sub"
        text_px = measure_text(words, cls)
        left = min(x - 4, RIGHT - text_px)
        # the first line of labels with room for this one, or a new one
        line = next((n for n, end in enumerate(line_ends) if end + 10 < left), len(line_ends))
        line_ends[line : line + 1] = [left + text_px]
        _mark(scene, key, event, x, middle)
        scene.text(f"{key}/words", left, middle + 16 + line * LINE, words, f"{cls} lab")
    return y + ROW + len(line_ends) * LINE


def _mark(scene: Scene, key: str, event: Event, x: float, y: float) -> None:
    """A diamond where transactions arrive, a dot elsewhere."""
    if event.transactions:
        scene.path(f"{key}/mark", f"M{x:.1f},{y - 7}l7,7l-7,7l-7,-7z", "diamond t1")
    else:
        scene.circle(f"{key}/mark", round(x, 1), y, 4, "point")


def _years(scene: Scene, y: float) -> None:
    scene.line("axis", AXIS, y, RIGHT, y, "rule")
    for year in range(FIRST + 2, LAST, 5):
        x = _at(Event(year, 0, ""))
        scene.line(f"year{year}/tick", x, TOP, x, y + 4, "rule")
        scene.text(f"year{year}", x, y + 18, str(year), "sub mid")
