"""The report's chart. The figure is drawn without pyplot: no window, nothing global to close."""

from __future__ import annotations

from io import BytesIO

import pandas as pd
from matplotlib.figure import Figure

COLOUR = "#3b6ea5"


def draw_chart(table: pd.DataFrame, title: str) -> bytes:
    """A PNG of the totals, and of the medians with their intervals; one line for each row of the table."""
    figure = Figure(figsize=(9, 1.6 + 0.4 * len(table)), dpi=110, layout="constrained")
    totals, medians = figure.subplots(1, 2, sharey=True)
    figure.suptitle(title)
    names = list(table.index)
    totals.barh(names, table["total"] / 1000, color=COLOUR)
    totals.set_xlabel("Total, thousand EUR")
    totals.invert_yaxis()
    reach = [table["median"] - table["low"], table["high"] - table["median"]]
    medians.errorbar(table["median"], names, xerr=reach, fmt="o", color=COLOUR, capsize=3)
    medians.set_xlabel("Typical order, EUR, with 95 % interval")
    medians.grid(axis="x", alpha=0.3)
    png = BytesIO()
    figure.savefig(png, format="png")
    return png.getvalue()
