"""Contract: a hash over lines, by which each line can be proved without the others, and no other line."""

from __future__ import annotations

import hashlib

import pytest

from sessions_app.history.evidence.hash_tree import HashTree, tree_above


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_each_line_has_a_path_to_the_hash_and_no_other_line_has_it(count: int) -> None:
    lines = [f"event s {number}" for number in range(count)]
    tree = HashTree(lines)
    for index, line in enumerate(lines):
        path = tree.path_to(index)
        assert tree_above(line, path) == tree.root
        assert tree_above(f"{line}0", path) != tree.root
        assert len(path) <= 4
    assert HashTree([*lines, "more"]).root != tree.root


def test_a_tree_of_nothing_and_of_one_line_are_as_in_rfc_6962() -> None:
    assert HashTree([]).root == hashlib.sha256(b"").hexdigest()
    assert HashTree(["a"]).root == hashlib.sha256(b"\0a").hexdigest()
