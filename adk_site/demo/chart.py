"""Chart of the report: bars for the totals, and on the right the medians with their intervals."""

import math
from collections.abc import Callable, Mapping
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

from adk_site.demo.report import GroupStatistics

WIDTH, ROW, TOP, BOTTOM = 990, 44, 60, 80
TOTALS, MEDIANS = (150, 510), (570, 940)  # the panels, from left to right
COLOUR, INK, GRID = "#3b6ea5", "#222222", "#dddddd"
TICKS = 4

ToPixels = Callable[[float], float]


def draw_chart(table: Mapping[str, GroupStatistics], title: str) -> bytes:
    """Return the chart as a PNG, with a row for each group of the table."""
    image = Image.new("RGB", (WIDTH, TOP + ROW * len(table) + BOTTOM), "white")
    draw = ImageDraw.Draw(image)
    draw.text((WIDTH / 2, TOP / 2), title, INK, ImageFont.load_default(20), anchor="mm")
    rows = table.values()
    total_x = _axis(draw, TOTALS, 0, max(row.total for row in rows) / 1000, "Total, thousand EUR")
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    median_x = _axis(draw, MEDIANS, low, high, "Typical order, EUR, with 95 % interval")
    for index, (name, row) in enumerate(table.items()):
        y = TOP + ROW * (index + 0.5)
        draw.text((TOTALS[0] - 10, y), name, INK, ImageFont.load_default(15), anchor="rm")
        draw.rectangle((TOTALS[0], y - ROW / 3, total_x(row.total / 1000), y + ROW / 3), COLOUR)
        _draw_interval(draw, median_x, row, y)
    png = BytesIO()
    image.save(png, format="png")
    return png.getvalue()


def _axis(draw: ImageDraw.ImageDraw, panel: tuple[int, int], low: float, high: float, label: str) -> ToPixels:
    """Draw a panel's grid, ticks and label; return the function from a value to its x coordinate."""
    left, right = panel
    bottom = draw.im.size[1] - BOTTOM
    step = _round_step((high - low) or 1.0)
    first, last = math.floor(low / step), math.floor(high / step) + 1

    def to_pixels(value: float) -> float:
        return left + (value / step - first) / (last - first) * (right - left)

    for tick in range(first, last + 1):
        x = to_pixels(tick * step)
        draw.line((x, TOP, x, bottom), GRID)
        draw.text((x, bottom + 18), f"{tick * step:,g}", INK, ImageFont.load_default(13), "mm")
    draw.text(((left + right) / 2, bottom + 48), label, INK, ImageFont.load_default(15), anchor="mm")
    return to_pixels


def _round_step(span: float) -> float:
    """Return the distance between ticks: 1, 2 or 5 times a power of ten, with at most `TICKS` of them in the span."""
    power: float = 10.0 ** math.floor(math.log10(span / TICKS))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power * TICKS >= span)


def _draw_interval(draw: ImageDraw.ImageDraw, to_pixels: ToPixels, row: GroupStatistics, y: float) -> None:
    low, middle, high = to_pixels(row.low), to_pixels(row.median), to_pixels(row.high)
    draw.line((low, y, high, y), COLOUR, width=2)
    for end in (low, high):
        draw.line((end, y - 5, end, y + 5), COLOUR, width=2)
    draw.ellipse((middle - 6, y - 6, middle + 6, y + 6), COLOUR)
