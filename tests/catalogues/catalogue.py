"""A catalogue: the `.po` file of a language, and the files that are compiled of it for Django and for the browser."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.catalog import Message as Entry
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from sessions_app.rendering.sentences import LOCALE
from tests.catalogues.extract import ROOT, Message, is_of_script, messages

PLURAL_RULES = {
    "de": ("(n != 1)", ("one", "other")),
    "es": ("(n != 1)", ("one", "other")),
    "ar": (
        "(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 && n%100<=99 ? 4 : 5)",
        ("zero", "one", "two", "few", "many", "other"),
    ),
}
"""By language the rule of gettext, and the categories of `Intl.PluralRules` in the order of its forms."""

WITHOUT_TIME = datetime(2000, 1, 1, tzinfo=UTC)
"""In place of the time of writing, so that the same sentences give the same file."""


def po_file(language: str) -> Path:
    """Return the file in which people translate."""
    return LOCALE / language / "LC_MESSAGES" / "django.po"


def mo_file(language: str) -> Path:
    """Return the file that Django reads."""
    return po_file(language).with_suffix(".mo")


def script_file(language: str) -> Path:
    """Return the file that pages in the language load."""
    return ROOT / "sessions_app/static/sessions_app/sentences" / f"{language}.js"


def read(language: str) -> Catalog:
    """Return the catalogue of a language; an empty one without a file."""
    if not po_file(language).exists():
        return Catalog(locale=language)
    with po_file(language).open("rb") as file:
        return read_po(file, locale=language)


def template() -> Catalog:
    """Return the sentences of the sources, without translations."""
    catalogue = Catalog(charset="utf-8")
    for message in messages():
        catalogue.add(
            _id_of(message),
            locations=[(message.path, 0)],
            context=message.context or None,
        )
    return catalogue


def updated(language: str) -> Catalog:
    """Return the catalogue with the sentences of the sources: new ones are empty, old ones are dropped."""
    old, catalogue = read(language), Catalog(locale=language, charset="utf-8")
    for entry in template():
        if entry.id:
            found = old.get(entry.id, entry.context)
            translation = found.string if found else None
            catalogue.add(entry.id, translation, locations=entry.locations, context=entry.context)
    return catalogue


def po_bytes(language: str, catalogue: Catalog) -> bytes:
    """Return the catalogue as a `.po` file."""
    rule, forms = PLURAL_RULES[language]
    head = f"""msgid ""
msgstr ""
"Language: {language}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: nplurals={len(forms)}; plural={rule};\\n"

"""
    file = io.BytesIO()
    write_po(file, catalogue, width=0, omit_header=True, include_lineno=False)
    return head.encode() + file.getvalue()


def mo_bytes(language: str) -> bytes:
    """Return the `.mo` file of a language's `.po` file."""
    file, catalogue = io.BytesIO(), read(language)
    catalogue.creation_date = WITHOUT_TIME
    write_mo(file, catalogue)
    return file.getvalue()


def script(language: str) -> str:
    """Return the script with the sentences of scripts: by their English a text, or texts by plural category."""
    found = {
        _key(entry): _value(language, entry) for entry in read(language) if _is_of_script(entry.locations)
    }
    lines = ",\n".join(
        f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
        for key, value in found.items()
    )
    return f"// Made by `make translations`.\nglobalThis.sentences = {{\n{lines}\n}};\n"


def _id_of(message: Message) -> str | tuple[str, str]:
    return (message.singular, message.plural) if message.plural else message.singular


def _key(entry: Entry) -> str:
    return entry.id[0] if isinstance(entry.id, tuple | list) else entry.id


def _value(language: str, entry: Entry) -> str | dict[str, str]:
    if isinstance(entry.string, str):
        return entry.string
    return dict(zip(PLURAL_RULES[language][1], entry.string or (), strict=True))


def _is_of_script(locations: Iterable[tuple[str, int | None]]) -> bool:
    return any(is_of_script(path) for path, _ in locations)
