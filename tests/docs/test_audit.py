"""docs/audit.md names a test for each of the 25 points that staff rely on."""

from __future__ import annotations

import re

from adk_site.embedded.paths import CHECKOUT

ROW = re.compile(r"^\| (\d+) \| .* \| `(tests/[\w/.]+)` \|$", re.MULTILINE)


def test_each_point_of_the_audit_has_a_test_that_is_named_after_it() -> None:
    rows = ROW.findall((CHECKOUT / "docs" / "audit.md").read_text())
    assert [int(number) for number, _ in rows] == list(range(1, 26))
    missing = [
        f"{number}: {path}"
        for number, path in rows
        if f"def test_{int(number):02}_" not in (CHECKOUT / path).read_text()
    ]
    assert missing == []
