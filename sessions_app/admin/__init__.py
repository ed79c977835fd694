"""Audit pages in the Django admin: read-only, except for remits and for actions with a permission each.

Staff with these permissions stop work, answer requests, annotate and erase sessions, correct state, set and lift legal
holds, revoke share links and API keys, make the keys of services, and collect and seal case files. `second_person` lets
another agree first.

A view refuses with PermissionDenied a user without the right to it, and a request that could write if it only reads.
It raises Http404 for a row that does not exist or is outside of the user's remits: both look alike.
"""

from sessions_app.admin import (  # noqa: F401 (each registers its admins)
    annotation,
    api_key,
    artifact,
    event,
    failure,
    feedback,
    invocation,
    job,
    legal_hold,
    memory,
    records,
    remit,
    scheduled_task,
    share_link,
    shared_state,
    tombstone,
    user,
    webhooks,
)
from sessions_app.admin.acts import staff_act_admin  # noqa: F401
from sessions_app.admin.case_files import case_file_admin  # noqa: F401
from sessions_app.admin.inbox import answer_request_admin  # noqa: F401
from sessions_app.admin.overview import overview_admin  # noqa: F401
from sessions_app.admin.second_person import act_request_admin  # noqa: F401
from sessions_app.admin.session import session_admin  # noqa: F401
