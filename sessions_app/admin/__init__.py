"""Audit pages in the Django admin: read-only, except for remits and for actions with a permission each.

An admin of this package is built from these parts:

    guarded_views.GuardedViewsMixin   time limit of statements, masked secrets, visible hidden characters
      base.ReadOnlyAdmin              no changes; rights and remits decide about rows, columns and search
        keyset_list.KeysetAdmin       lists of large tables, without counting and skipping rows
        base.SessionRowAdmin          rows of a session
      staff_records.RecordedActsMixin records of acts
        confirmed_action.ConfirmedActionAdmin   an action, with a page for the reason
          stoppable.StoppableAdmin    stop of a session's row, with a link in the list
            runs.RunAdmin             invocations and jobs: attempts, pages that refresh themselves

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
    session,
    share_link,
    shared_state,
    tombstone,
    user,
    webhooks,
)
from sessions_app.admin.acts import page as acts_page  # noqa: F401
from sessions_app.admin.case_files import case_file_admin  # noqa: F401
from sessions_app.admin.inbox import requests  # noqa: F401
from sessions_app.admin.overview import page  # noqa: F401
from sessions_app.admin.second_person import requests as second_person_requests  # noqa: F401
