"""Contract: in production modules import each other by names with their hashes, and have no comments."""

from __future__ import annotations

import re
from pathlib import Path

from django.core.management import call_command
from pytest_django import Settings

from adk_site.static_files import HashedStaticFiles

IMPORTED = re.compile(r"""(?:from|import\(|import)\s*["'](\.[^"']+\.js)["']""")


def test_modules_import_hashed_modules(settings: Settings, tmp_path: Path) -> None:
    settings.STATIC_ROOT = str(tmp_path)
    # Compressing takes seven eighths of the CPU time.
    settings.WHITENOISE_SKIP_COMPRESS_EXTENSIONS = ("css", "js", "json", "map", "svg", "txt")
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "adk_site.static_files.HashedStaticFiles"},
    }
    call_command("collectstatic", interactive=False, verbosity=0)
    storage = HashedStaticFiles()
    names = {tmp_path / storage.stored_name(name) for name in storage.hashed_files}
    page = tmp_path / storage.stored_name("sessions_app/chat/main.js")
    seen, unread = set(), [page]
    while unread:
        module = unread.pop()
        if module not in seen:
            seen.add(module)
            unread += [(module.parent / path).resolve() for path in IMPORTED.findall(module.read_text())]
    assert len(seen) > 20
    assert seen <= names
    assert not [module for module in seen if "/vendor/" not in str(module) and has_comment(module)]


def has_comment(module: Path) -> bool:
    lines = (line.strip() for line in module.read_text().splitlines())
    return any(line.startswith(("//", "/*", "*/")) for line in lines)
