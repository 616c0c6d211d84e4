"""`Trials`: an experiment with choices, a button that runs it, and a table that grows; `vary`:
switches for a story.

The experiment is any function `run(*choices, say)`: it calls `say` with a line whenever it has
got further, and gives the cells of its row. With `money=True` it is also given `show`, to be called
with sums of money while it goes on. What raises becomes a row too, so that a table never hides a
trial. `run` may take long; the line below the button says what it is doing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import ipywidgets as w
from IPython.display import display

from mqlab.kernel import Words, tr
from mqlab.registry.tables import in_words

from .money_bar import MoneyBar
from .player import Output

IMPOSSIBLE = Words("This combination is not possible: {why}")
CAPTION = tr("What came of each trial")
Say = Callable[[str], None]
Run = Callable[..., Sequence[str]]

CSS = (
    "<style>.mqlab-trials{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    ".mqlab-trials caption{text-align:left;padding:4px 0;white-space:nowrap}"
    ".mqlab-trials th,.mqlab-trials td{border-bottom:1px solid #8886;padding:3px 12px 3px 0;"
    "text-align:left}</style>"
)


class Trials(w.VBox):  # type: ignore[misc]
    """`choices`: name → what can be chosen; `columns`: the names of the cells that `run` gives."""

    def __init__(
        self,
        choices: Mapping[str, Sequence[str]],
        run: Run,
        columns: Sequence[str],
        *,
        button: str = "Run",
        caption: str = "",
        money: bool = False,
    ) -> None:
        """Build the menus, the button, the line of progress, the bar of money and the empty table.
        `run` is called with what the menus say and with `say`, which prints a line of progress, and
        returns the other cells of a row. `money`: it is also given `show`, which moves that bar.
        `caption`: the table's. ValueError without a choice or a column."""
        if not choices or not columns:
            raise ValueError("give at least one choice and one column")
        self.rows: list[tuple[str, ...]] = []
        self._run, self._columns, self._caption = run, tuple(columns), caption or str(CAPTION)
        self._names = tuple(choices)
        self.menus = [
            w.Dropdown(
                options=[(in_words(str(one)), str(one)) for one in options],
                description=in_words(name),
                layout=w.Layout(width="auto", min_width="320px"),
            )
            for name, options in choices.items()
        ]  # fmt: skip
        self.button = w.Button(description=button, button_style="danger", tooltip=button)
        self.button.on_click(lambda _: self.try_out(*(menu.value for menu in self.menus)))
        self.status = w.HTML(str(tr("Choose, then press the button.")))
        self.money = MoneyBar()
        self._more = {"show": self.money.show} if money else {}  # what `run` is given besides
        self.table = w.HTML(self._table())
        super().__init__([w.HBox([*self.menus, self.button], layout=w.Layout(flex_flow="row wrap")),
                          self.status, self.money, self.table])  # fmt: skip

    def try_out(self, *choices: str, say: Say | None = None) -> tuple[str, ...]:
        """Run the experiment once with these choices, append its row (choices, then results) to the
        table, and return the row. An exception becomes a row, too: it is the first result. `say`
        also gets each line of progress."""

        def tell(line: str) -> None:
            self.status.value = escape(line)
            if say is not None:
                say(line)

        self.button.disabled = True
        self.money.clear()
        try:
            results = tuple(self._run(*choices, say=tell, **self._more))
        except Exception as error:
            # As many cells as there are columns: the error, then empty ones.
            results = (f"{type(error).__name__}: {error}", *[""] * (len(self._columns) - 1))
        finally:
            self.button.disabled = False
        row = (*map(str, choices), *map(str, results))
        self.rows.append(row)
        self.table.value = self._table()
        self.status.value = str(tr("Done. Choose again, or go on."))
        return row

    def __str__(self) -> str:
        """The table as text."""
        rows = [(*self._names, *self._columns), *self.rows]
        wide = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True)).rstrip()
            for row in rows
        )

    def _table(self) -> str:
        names = map(in_words, (*self._names, *self._columns))
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(in_words(cell))}</td>' for cell in row)}</tr>"
            for row in self.rows
        )
        return (
            f'{CSS}<table class="mqlab-trials"><caption>{escape(self._caption)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )


# ---- Switches for a story: ipywidgets choose what varies, and the picture follows ----
#
#     def play(off, kill):
#         return Player(scenario(f"system charges
# off {off}
# {kill}
# {CALLS}"))
#
#     vary(play, off=list_safeguards("charges"), kill=list_kills(CALLS, "coordinator"))
#
# `play` is any function that gives something to display, and a menu is whatever ipywidgets'
# `interact` takes: pairs of words and values, a widget, a range. Unlike `interact`, the picture is
# an output of its own: it stays in the saved notebook, and the focus stays in the menu.

SNUG = {"description_width": "initial"}
IN_A_ROW = w.Layout(flex_flow="row wrap", grid_gap="0 16px", width="100%")


@dataclass(frozen=True)
class _Refusal:
    """What is shown in place of a picture."""

    why: str

    def __str__(self) -> str:
        return str(IMPOSSIBLE(why=self.why))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>"


def vary(play: Callable[..., Any], **menus: Any) -> None:
    """Show a menu for each argument of `play`, and below them what `play` returns for the chosen
    values, again at each change; where it raises ValueError, the reason instead. ValueError without
    menus."""
    if not menus:
        raise ValueError("give at least one menu: vary(play, off=list_safeguards('kafka'))")
    boxes = {name: _make_menu(name, menu) for name, menu in menus.items()}
    form = w.HBox(list(boxes.values()), layout=IN_A_ROW)
    form.add_class("mqlab-vary")
    show: Any = display  # IPython does not say its type
    show(form)
    output = show(_play(play, boxes), display_id=True)

    def redraw(_: object) -> None:
        output.update(_play(play, boxes))

    for box in boxes.values():
        box.observe(redraw, "value")


def _make_menu(name: str, menu: Any) -> Any:
    if isinstance(menu, list):
        pairs = (one if isinstance(one, tuple) else (one, one) for one in menu)
        menu = [(in_words(label), value) for label, value in pairs]
    widget = w.interactive.widget_from_abbrev(menu)
    if widget is None:
        raise ValueError(f"{name}: {menu!r} is no menu; give a list of (words, value)")
    widget.description = name
    widget.style = SNUG
    widget.layout = w.Layout(width="auto", max_width="100%")
    return widget


@dataclass(frozen=True)
class _Whole:
    """A player that takes another one's place, at once and without its still."""

    player: Output

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return self.player._repr_mimebundle_()


def _play(play: Callable[..., Any], boxes: dict[str, Any]) -> Any:
    try:
        shown = play(**{name: box.value for name, box in boxes.items()})
    except ValueError as error:
        return _Refusal(str(error))
    return _Whole(shown) if isinstance(shown, Output) else shown
