"""Acts on a row, and actors, as the audit pages show them."""

from uuid import UUID

from django.contrib.auth import get_user_model
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_lazy

from sessions_app.admin.framework.columns import exact_time
from sessions_app.base.actors import ActionKind, ActorKind
from sessions_app.models import GuardedAct, SessionAct
from sessions_app.models.actor_columns import ActorColumns
from sessions_app.rendering.audit_values import NOTHING, excerpt

MAX_SHOWN_ACTS = 20
STEPS_TO_ACT = {
    ActionKind.ASK: gettext_lazy("Ask to %s"),
    ActionKind.APPROVE: gettext_lazy("Agree to %s"),
    ActionKind.REJECT: gettext_lazy("Refuse to %s"),
}
"""Steps towards an act that needs a second person, by the action that records them."""


def staff_act_in_words(action: str, subject_kind: str, detail: str) -> str:
    """Return what staff did, such as "Agree to erase", in the words of the pages where they did it."""
    act = detail.strip("()")
    if action in STEPS_TO_ACT and act in GuardedAct:
        return str(STEPS_TO_ACT[ActionKind(action)] % act)
    if action == ActionKind.DELETE and subject_kind in ("session", get_user_model()._meta.model_name):
        return gettext("Erase")
    return str(dict(ActionKind.choices).get(action, action))


def actor_in_words(row: ActorColumns) -> SafeString:
    """Return kind, name and address of a row's actor. A row older than these columns has no actor."""
    if not row.actor_kind:
        return SafeString(NOTHING)
    # The name tells the kind: "ada by the key Laptop".
    kind = "" if row.actor_kind == ActorKind.KEY else row.get_actor_kind_display().lower()
    origin = gettext(" from %(address)s") % {"address": row.address} if row.address else ""
    return format_html("{} <bdi>{}</bdi>{}", kind, row.actor_name, origin)


def acts_on(subject_kind: str, session_id: UUID, key: object) -> SafeString:
    """Return the newest acts on a row of a session, one on each line."""
    # By session first: the index of the acts begins with the session.
    acts = SessionAct.objects.filter(session=session_id, subject_kind=subject_kind, subject_id=str(key))
    lines = []
    for act in acts.order_by("-id")[:MAX_SHOWN_ACTS]:
        reason = format_html(": <bdi>{}</bdi>", excerpt(act.reason)) if act.reason else ""
        lines.append((exact_time(act.at), act.get_action_display(), actor_in_words(act), reason))
    return format_html_join(mark_safe("<br>"), "{}: {}, {}{}", lines) or SafeString(NOTHING)
