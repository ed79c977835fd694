"""Mail to the members of a group of users."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.contrib.auth import get_user_model
from django.core.mail import send_mail

from sessions_app.conf import conf

logger = logging.getLogger(__name__)


def mail_group(group: str, subject: str, lines: Iterable[str]) -> None:
    """Send a mail to the active members of the group, with the name of the site before the subject."""
    members = get_user_model()._base_manager.filter(is_active=True, groups__name=group)
    addresses = [address for address in members.values_list("email", flat=True) if address]
    if addresses:
        send_mail(f"{conf().site_name}: {subject}", "\n".join(lines), None, addresses)
    else:
        logger.warning("No member of the group %r has a mail address", group)
