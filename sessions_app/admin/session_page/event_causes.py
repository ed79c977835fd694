"""Lookup of the pages with the exceptions behind failures that events report: of a tool, or of an invocation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.urls import reverse

from sessions_app.admin.session_page.event_actors import invocation_of
from sessions_app.base.codec import json_object
from sessions_app.models import CallError, Invocation, Session

Causes = dict[int, dict[str, str]]
"""Addresses of the pages by seq and call id; the call id is empty for the error of the event itself."""


def load_causes(session: Session, bodies: Mapping[int, Any]) -> Causes:
    """Return the addresses of the pages with the exceptions, in two queries at most.

    These pages need the permission to see details of errors.
    """
    causes: Causes = {}
    for error in CallError.objects.filter(session=session, seq__in=list(bodies)).only("seq", "call_id"):
        url = reverse("admin:sessions_app_callerror_change", args=[error.pk])
        causes.setdefault(error.seq, {})[error.call_id] = url
    failed = {seq: invocation_of(body) for seq, body in bodies.items() if json_object(body).get("errorCode")}
    if failed:
        rows = Invocation.objects.filter(
            session=session, invocation_id__in=set(filter(None, failed.values()))
        )
        keys = dict(rows.exclude(error_detail="").values_list("invocation_id", "pk"))
        for seq, invocation_id in failed.items():
            if pk := keys.get(invocation_id or ""):
                causes.setdefault(seq, {})[""] = reverse("admin:sessions_app_invocation_change", args=[pk])
    return causes
