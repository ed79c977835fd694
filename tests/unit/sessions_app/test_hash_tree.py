"""Contract: a hash over lines, by which each line can be proved without the others, and no other line."""

from __future__ import annotations

import hashlib

import pytest

from sessions_app.history.hash_tree import path_to, tree_above, tree_of


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_each_line_has_a_path_to_the_hash_and_no_other_line_has_it(count: int) -> None:
    lines = [f"event s {number}" for number in range(count)]
    tree = tree_of(lines)
    for index, line in enumerate(lines):
        path = path_to(lines, index)
        assert tree_above(line, path) == tree
        assert tree_above(f"{line}0", path) != tree
        assert len(path) <= 4
    assert tree_of([*lines, "more"]) != tree


def test_a_tree_of_nothing_and_of_one_line_are_as_in_rfc_6962() -> None:
    assert tree_of([]) == hashlib.sha256(b"").hexdigest()
    assert tree_of(["a"]) == hashlib.sha256(b"\0a").hexdigest()
