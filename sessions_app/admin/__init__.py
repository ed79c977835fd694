"""Audit pages in the Django admin: read-only, except for remits and for actions with a permission each.

An admin of this package is built from these parts:

    guarded_views.GuardedViewsMixin   time limit of statements, masked secrets, visible hidden characters
      base.ReadOnlyAdmin              no changes; rights and remits decide about rows, columns and search
        keyset_list.KeysetAdmin       lists of large tables, without counting and skipping rows
        base.SessionRowAdmin          rows of a session
    staff_acts.RecordedActsMixin      records of acts
      confirmed_action.ConfirmedActionAdmin   an action, with a page for the reason
        stoppable.StoppableAdmin      stop of a session's row, with a link in the list
          live_page.LivePageAdmin     stoppable rows whose pages refresh themselves

Staff with these permissions stop work, answer requests, annotate and erase sessions, correct state, set and lift legal
holds, revoke share links and API keys, and make the keys of services.
"""

from sessions_app.admin.account_acts import AccountActAdmin
from sessions_app.admin.annotation import AnnotationAdmin
from sessions_app.admin.api_keys.api_key_admin import ApiKeyAdmin
from sessions_app.admin.artifact import ArtifactAdmin
from sessions_app.admin.call_error import CallErrorAdmin
from sessions_app.admin.event import EventAdmin
from sessions_app.admin.failure import FailureAdmin
from sessions_app.admin.feedback import FeedbackAdmin
from sessions_app.admin.inbox.requests import AnswerRequestAdmin
from sessions_app.admin.invocation import InvocationAdmin
from sessions_app.admin.job import ToolJobAdmin
from sessions_app.admin.legal_hold import LegalHoldAdmin
from sessions_app.admin.overview.overview_admin import OverviewAdmin
from sessions_app.admin.remit import RemitAdmin
from sessions_app.admin.scheduled_task import ScheduledTaskAdmin
from sessions_app.admin.session import SessionAdmin
from sessions_app.admin.session_acts import SessionActAdmin
from sessions_app.admin.share_link import ShareLinkAdmin
from sessions_app.admin.shared_state import AppStateAdmin, UserStateAdmin
from sessions_app.admin.staff_accesses import StaffAccessAdmin
from sessions_app.admin.staff_acts import StaffActAdmin
from sessions_app.admin.tombstone import TombstoneAdmin
from sessions_app.admin.user import ErasingUserAdmin
from sessions_app.admin.webhooks import WebhookAdmin, WebhookDeliveryAdmin

__all__ = [
    "AccountActAdmin",
    "AnnotationAdmin",
    "AnswerRequestAdmin",
    "ApiKeyAdmin",
    "AppStateAdmin",
    "ArtifactAdmin",
    "CallErrorAdmin",
    "ErasingUserAdmin",
    "EventAdmin",
    "FailureAdmin",
    "FeedbackAdmin",
    "InvocationAdmin",
    "LegalHoldAdmin",
    "OverviewAdmin",
    "RemitAdmin",
    "ScheduledTaskAdmin",
    "SessionActAdmin",
    "SessionAdmin",
    "ShareLinkAdmin",
    "StaffAccessAdmin",
    "StaffActAdmin",
    "TombstoneAdmin",
    "ToolJobAdmin",
    "UserStateAdmin",
    "WebhookAdmin",
    "WebhookDeliveryAdmin",
]
