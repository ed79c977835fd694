"""A recorded answer of 12 kB: headings, nested lists, tables, code, quotations, formulas, links, CJK and emoji."""

from __future__ import annotations

from pathlib import Path

RECORDED = Path(__file__).with_suffix(".md").read_text()
PIECE = 14
"""Characters of a piece, as the model has streamed them."""
