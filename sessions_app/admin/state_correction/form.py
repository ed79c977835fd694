"""Form for new values of some keys.

The form has digests of the values as shown. An agent may change a key while staff write: the correction compares the
digests and refuses to overwrite a newer value.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from runtime.errors import StateValueError
from sessions_app.admin.confirmed_action import ReasonForm
from sessions_app.invocations.state_delta import as_given_json
from sessions_app.rendering.audit_values import indent_json
from sessions_app.rendering.hidden_characters import escape_in_json
from sessions_app.store.stored_values import StoredValue


class CorrectionForm(ReasonForm):
    """New values as JSON, and a reason.

    Attributes:
        changes: new values by key; None for a key to delete. Set by validation.
        seen: digests of the values as shown, by key. Set by validation for the keys in `changes`.
    """

    def __init__(
        self,
        values: Sequence[StoredValue],
        data: Mapping[str, Any] | None,
        proposed: Mapping[str, Any] | None = None,
    ) -> None:
        """Make the form for the keys of the values.

        Args:
            data: the posted fields; None for an empty form.
            proposed: initial values by key, instead of the stored values.
        """
        super().__init__(data)
        self.values = values
        self.changes: dict[str, Any] = {}
        self.seen: dict[str, str] = {}
        for number, value in enumerate(values):
            initial = indent_json(value.text) if value.is_whole else ""
            if proposed is not None:
                initial = json.dumps(proposed.get(value.key), ensure_ascii=False, indent=2)
            self.fields[f"value-{number}"] = forms.CharField(
                label=value.key,
                required=False,
                strip=False,
                initial=escape_in_json(initial),
                widget=forms.Textarea(attrs={"rows": 6, "cols": 60, "spellcheck": "false", "dir": "auto"}),
                help_text="" if value.is_whole else _("Too long to show here. What you write replaces it."),
            )
            self.fields[f"delete-{number}"] = forms.BooleanField(
                label=_("Delete: agents read null"), required=False
            )
            self.fields[f"seen-{number}"] = forms.CharField(
                required=False, initial=value.digest, widget=forms.HiddenInput
            )
        self.order_fields([name for name in self.fields if name != "reason"])

    def rows(self) -> Iterator[tuple[str, forms.BoundField, forms.BoundField, forms.BoundField]]:
        """Yield each key with its fields: value, deletion, digest."""
        for number, value in enumerate(self.values):
            yield value.key, self[f"value-{number}"], self[f"delete-{number}"], self[f"seen-{number}"]

    def clean(self) -> dict[str, Any]:
        """Read the values, and leave out unchanged values.

        Raises:
            ValidationError: no value is changed.
        """
        given: dict[str, Any] = super().clean() or {}
        for number, stored in enumerate(self.values):
            name = f"value-{number}"
            try:
                value = None if given.get(f"delete-{number}") else _parse(stored.key, given.get(name) or "")
            except ValidationError as error:
                self.add_error(name, error)
                continue
            seen = given.get(f"seen-{number}") or ""
            if not (
                seen == stored.digest and stored.is_whole and stored.length and _equals(stored.text, value)
            ):
                self.changes[stored.key] = value
                if seen:
                    self.seen[stored.key] = seen
        if not self.changes and not self.errors:
            raise ValidationError(_("Nothing is changed."))
        return given


def _parse(key: str, text: str) -> Any:
    """Return the JSON value after the checks for values of agents."""
    try:
        return as_given_json({key: json.loads(text)})[key]
    except StateValueError as error:
        raise ValidationError(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise ValidationError(
            _(
                "This is not JSON. Write a text in double quotes, a number, true, false, null, a list or an object."
            )
        ) from error


def _equals(stored: str, value: Any) -> bool:
    try:
        # As JSON: in Python `1 == True` and `1 == 1.0`.
        return bool(json.dumps(json.loads(stored), sort_keys=True) == json.dumps(value, sort_keys=True))
    except (ValueError, RecursionError):  # PostgreSQL stores JSON that Python refuses.
        return False
