"""Pictures of traces: `Player` scrubs a trace, `Compare` two to four of them on one clock,
`Playground` lets a learner move a system and try other futures of it, perhaps with a claim to
break as the goal, `Predict` asks before it shows, `Ordering` lets one order the pieces of a
protocol step, `Explorer` searches every schedule, `Follow` watches a running broker, `Trials`
repeats an experiment with other choices and keeps what came of each, `vary` puts a picture below
switches of ipywidgets.

`Player` and `Compare` need the standard library only; the others are widgets and need anywidget, so
they are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .comparison import Compare
from .player import Player

if TYPE_CHECKING:
    from .explorer import Explorer
    from .follow import Follow
    from .ordering import Ordering
    from .playground import Playground
    from .predict import Predict
    from .trials import Trials, vary

_WIDGETS = {
    "Explorer": ".explorer",
    "Follow": ".follow",
    "Ordering": ".ordering",
    "Playground": ".playground",
    "Predict": ".predict",
    "Trials": ".trials",
    "vary": ".trials",
}

__all__ = [
    "Compare",
    "Explorer",
    "Follow",
    "Ordering",
    "Player",
    "Playground",
    "Predict",
    "Trials",
    "vary",
]


def __getattr__(name: str) -> Any:
    if name not in _WIDGETS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_WIDGETS[name], __name__), name)
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            f"{name} is a notebook widget and needs {missing.name}; install the lab with "
            "`make setup`, or use Player, which needs nothing",
            name=missing.name,
        ) from missing
