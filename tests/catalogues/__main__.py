"""Bring the catalogues up to date with the sources, and compile them: `make translations`.

New sentences are empty in the `.po` files: translate them there, and run the command again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "adk_site.dev.settings")
django.setup()

from tests.catalogues.catalogue import (  # noqa: E402 - needs Django
    PLURAL_RULES,
    mo_bytes,
    mo_file,
    po_bytes,
    po_file,
    script,
    script_file,
    updated,
)


def main() -> None:
    """Write the files of each language, and tell how many sentences have no translation."""
    for language in PLURAL_RULES:
        catalogue = updated(language)
        po_file(language).parent.mkdir(parents=True, exist_ok=True)
        po_file(language).write_bytes(po_bytes(language, catalogue))
        mo_file(language).write_bytes(mo_bytes(language))
        script_file(language).parent.mkdir(exist_ok=True)
        script_file(language).write_text(script(language))
        missing = [entry.id for entry in catalogue if entry.id and not all(_forms(entry.string))]
        print(f"{language}: {len(missing)} sentences have no translation", *missing, sep="\n  ")


def _forms(string: str | Sequence[str] | None) -> Sequence[str]:
    return (string or "",) if isinstance(string, str | None) else string


main()
