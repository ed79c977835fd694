"""Changed lines of two texts: exact, and in bounded time for any texts."""

from __future__ import annotations

import time

from sessions_app.rendering.compared_lines import MAX_LINES, changes_block

MAX_SECONDS = 10
"""An exact comparison of the hostile texts below takes minutes."""


def test_changed_lines_are_shown_with_their_neighbours() -> None:
    before = "\n".join(["first", *map(str, range(9)), "<b>"])
    shown = changes_block(before, before.replace("<b>", "<i>"))
    assert "<span>  7</span>\n<span>  8</span>\n<del>- &lt;b&gt;</del>\n<ins>+ &lt;i&gt;</ins>" in shown
    assert "first" not in shown


def test_equal_texts_have_no_changes() -> None:
    assert "<del>" not in changes_block("a\nb", "a\nb")


def test_repeated_lines_take_bounded_time() -> None:
    before = "same\n" * MAX_LINES
    after = "".join(f"same\n{number}\n" for number in range(MAX_LINES // 2))
    begin = time.process_time()
    assert "<ins>" in changes_block(before, after)
    assert time.process_time() - begin < MAX_SECONDS
