"""Mail to the members of a group of users: stored with what it reports, and sent by the sweep."""

import logging
from collections.abc import Iterable
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.urls import NoReverseMatch, reverse

from sessions_app.conf import conf
from sessions_app.models import WaitingMail
from sessions_app.process.sweeping import OverdueRows

logger = logging.getLogger(__name__)
PAUSE = timedelta(minutes=1)
"""Time between two attempts while the mail server is down."""


def mail_group(group: str, subject: str, lines: Iterable[str]) -> None:
    """Store a mail to the active members of the group, in the transaction of what it reports.

    A sweep sends the mail, with the name of the site before the subject, and tries each minute until it is sent.
    """
    WaitingMail.objects.create(group=group, subject=subject, text="\n".join(lines))


def admin_link(view: str, *args: object) -> str:
    """Return the address of a page of the admin for a mail; empty if the project has no admin.

    A reader signs in there: a mail may be forwarded, and each act has its actor.
    """
    try:
        return conf().site_address + reverse(f"admin:{view}", args=args)
    except NoReverseMatch:
        return ""


def waiting_mails() -> OverdueRows[WaitingMail]:
    """Return the repair that sends the stored mails."""
    return OverdueRows(_due, _send)


def _due() -> QuerySet[WaitingMail]:
    return WaitingMail.objects.filter(due_at__lte=Now()).order_by("due_at")


def _send(mail: WaitingMail) -> None:
    row = WaitingMail.objects.filter(pk=mail.pk)
    # If the process dies after the mail, it is sent again: twice rather than never.
    with transaction.atomic():
        # SKIP LOCKED: another sweep is sending the mail.
        if row.filter(due_at__lte=Now()).select_for_update(skip_locked=True).first() is None:
            return
        try:
            _mail_members(mail)
        except Exception:
            logger.exception("The mail to the group %r could not be sent; it is tried again", mail.group)
            row.update(due_at=Now() + PAUSE)
        else:
            row.delete()


def _mail_members(mail: WaitingMail) -> None:
    members = get_user_model()._base_manager.filter(is_active=True, groups__name=mail.group)
    addresses = [address for address in members.values_list("email", flat=True) if address]
    if addresses:
        subject = f"{conf().site_name}: {mail.subject}"
        # Django refuses a subject of several lines, which a name of a user in it may have.
        send_mail(" ".join(subject.split()), mail.text, None, addresses)
    else:
        logger.warning("No member of the group %r has a mail address", mail.group)
