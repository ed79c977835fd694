"""Badge that says whether the log of a session is as it was written, and otherwise names the first broken event."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from sessions_app.history.integrity import flaw_in
from sessions_app.models import Session

WORDS: dict[str, str | Promise] = {
    "altered": _("Event #%(seq)d was altered"),
    "missing": _("Events before #%(seq)d are missing"),
    "unsealed": _("Event #%(seq)d was not written by the site"),
    "cut off": _("Events up to #%(seq)d were cut off"),
}


def integrity_badge(session: Session) -> dict[str, object]:
    """Check the whole log, and return the context of the badge."""
    flaw = flaw_in(session.pk)
    words = str(WORDS[flaw.problem]) % {"seq": flaw.seq} if flaw else ""
    return {"session": session, "flaw": flaw, "words": words}
