"""Static files: each that a template names exists. Otherwise its page is an error of the server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

ROOT = Path(__file__).parent.parent.parent.parent
STATIC = re.compile(r"""{% static ['"]([^'"]+)['"]""")
NAMED = sorted(
    {
        name
        for folder in ("templates", "sessions_app")
        for template in (ROOT / folder).rglob("*.html")
        for name in STATIC.findall(template.read_text())
    }
)


@pytest.mark.parametrize("name", NAMED)
def test_a_static_file_that_a_template_names_exists(name: str) -> None:
    assert finders.find(name)
