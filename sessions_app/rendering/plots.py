"""Plots as inline SVG, drawn by a template and coloured by `admin/audit.css`.

No library is used: they add styles and scripts to the SVG, which the content security policy forbids, or colours for
light pages only.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import floor, log10

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

WIDTH, HEIGHT = 720, 200
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 8, 22
MAX_MARKS = 6
Series = Mapping[str, Sequence[float | None]]
Draw = Callable[[str, Sequence[str], Series], SafeString]


def stacked_bars(title: str, labels: Sequence[str], series: Series) -> SafeString:
    """Return a bar for each label, stacked by series in their colours. None counts as 0."""
    columns = [[value or 0.0 for value in column] for column in zip(*series.values(), strict=True)]
    scale = _Scale(max((sum(column) for column in columns), default=0), len(labels))
    bars = []
    for n, column in enumerate(columns):
        for colour, (value, top) in enumerate(zip(column, accumulate(column), strict=True)):
            if value:
                height = scale.y(top - value) - scale.y(top)
                bar = {"x": scale.x(n) + 1, "y": scale.y(top), "width": scale.step - 2, "height": height}
                bars.append({**bar, "colour": colour})
    return _draw(title, labels, series, scale, bars=bars)


def lines(title: str, labels: Sequence[str], series: Series) -> SafeString:
    """Return a line for each series, with a point for each label. None is a gap in the line."""
    largest = 0.0
    for values in series.values():
        largest = max([largest, *filter(None, values)])
    scale = _Scale(largest, len(labels))
    paths = []
    for colour, values in enumerate(series.values()):
        if any(values):
            paths.append({"colour": colour, "path": _path(scale, values)})
    return _draw(title, labels, series, scale, paths=paths)


class _Scale:
    """Coordinates of columns and values in the plot."""

    def __init__(self, largest: float, number: int) -> None:
        # Marks at round numbers: the smallest step of 1, 2, 5 or 10 times a power of ten with at most four marks.
        power = 10 ** floor(log10(largest / 4)) if largest > 0 else 1
        self.mark: float = next((n * power for n in (1, 2, 5, 10) if n * power * 4 >= largest), power)
        self.largest = max(largest, self.mark)
        self.step = (WIDTH - LEFT - RIGHT) / max(1, number)

    def x(self, n: int) -> float:
        return LEFT + n * self.step

    def y(self, value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / self.largest)


def _path(scale: _Scale, values: Sequence[float | None]) -> str:
    """Return the path of a line, interrupted at each gap. A single value is a dot."""
    # `h0` draws a line of no length, which round ends make a dot: a value between two gaps would be invisible.
    points = []
    command = "M"
    for n, value in enumerate(values):
        if value is None:
            command = "M"
        else:
            x = scale.x(n) + scale.step / 2
            points.append(f"{command}{x:.1f} {scale.y(value):.1f}h0")
            command = "L"
    return "".join(points)


def _short(value: float) -> str:
    """Return a short form of a value for the axis, such as `2M`."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"


def _draw(
    title: str, labels: Sequence[str], series: Series, scale: _Scale, **shapes: Sequence[Mapping[str, object]]
) -> SafeString:
    every = max(1, len(labels) // MAX_MARKS)
    marks = [n * scale.mark for n in range(5) if n * scale.mark <= scale.largest]
    context = {
        "title": title, "width": WIDTH, "height": HEIGHT, "left": LEFT, "right": WIDTH - RIGHT, "base": HEIGHT - 4,
        "marks": [(scale.y(value), _short(value)) for value in marks],
        "labels": [(scale.x(n) + scale.step / 2, label) for n, label in enumerate(labels) if n % every == 0],
        "legend": list(enumerate(series)),
        **shapes,
    }  # fmt: skip
    return render_to_string("admin/sessions_app/_plot.html", context)
