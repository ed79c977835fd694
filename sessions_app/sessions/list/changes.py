"""Changes of a user to the list of sessions: rename, pin, archive, delete, and their opposites.

A deletion only sets `deleted_at`. A sweep erases the session after `deletion_undo_seconds`; until then `restore` brings
it back.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Least, Now
from django.utils.translation import gettext_noop

from runtime.artifacts.referenced_artifacts import ArtifactReference
from runtime.models.llm_response import parts_in
from runtime.valid_text import storable
from sessions_app.base.actors import Act, ActionKind, Actor
from sessions_app.base.codec import event_to_show
from sessions_app.errors import InvalidInputError, NotFoundError
from sessions_app.history.rewinds import find_rewinds
from sessions_app.models import Event, LegalHold, Session, SessionAct
from sessions_app.models.session import TITLE_LENGTH, SessionQuerySet, TitleSource
from sessions_app.secrets.masking import beginning_of, mask_text
from sessions_app.sessions.list.plain_text import plain_line
from sessions_app.sessions.ownership import NO_SESSION
from sessions_app.store.erasing import refuse_if_held

RENAME = "rename"
DELETE = "delete"
RESTORE = "restore"
_VALUES: Mapping[str, Mapping[str, Any]] = {
    "pin": {"is_pinned": True},
    "unpin": {"is_pinned": False},
    "archive": {"archived_at": Now()},
    "unarchive": {"archived_at": None},
    DELETE: {"deleted_at": Now()},
    RESTORE: {"deleted_at": None},
}
CHANGES = (RENAME, *_VALUES)
_ACTIONS = {DELETE: ActionKind.DELETE, RESTORE: ActionKind.RESTORE}
"""Changes recorded as acts; the others concern only the look of the list."""
MAX_READ_LENGTH = 2_000
"""Characters of a first message of which its title is made."""
GONE = gettext_noop("This chat is deleted for good.")


def change_session(session: Session, change: str, title: str, by: Actor) -> None:
    """Make one of `CHANGES` to the session.

    Raises:
        NotFoundError: the session is erased already.
        InvalidInputError: the title is empty or too long.
        LegalHoldError: the change is a deletion, and the session or its user is under legal hold.
    """
    if change == DELETE:
        refuse_if_held(LegalHold.objects.of_session(session.pk, session.user_id))
    values = _new_title(title) if change == RENAME else _VALUES[change]
    row = Session.objects.filter(pk=session.pk)
    # One transaction: an act must not be recorded for a change that finds no row.
    with transaction.atomic():
        if action := _ACTIONS.get(change):
            SessionAct.objects.record(session.pk, Act(by, action, ("session", str(session.pk))))
            is_changed = row.filter(deleted_at__isnull=change == DELETE).update(**values)
        else:
            is_changed = row.update(**values)
        if not is_changed and not row.exists():
            raise NotFoundError(GONE)
        if not is_changed:  # Another request was faster.
            transaction.set_rollback(True)


def change_together(
    own: SessionQuerySet, wanted: Iterable[str], title: str, by: Actor, check: Callable[[Session], None]
) -> None:
    """Make several of `CHANGES` to the only session of `own`, all or none, after a check of the locked row.

    Raises the same as `change_session`, and the errors of `check`.
    """
    with transaction.atomic():
        session = own.select_for_update().first()
        if session is None:
            raise NotFoundError(NO_SESSION)
        check(session)
        for change in wanted:
            change_session(session, change, title, by)


def _new_title(text: str) -> dict[str, Any]:
    title = " ".join(storable(text).split())
    if not title:
        raise InvalidInputError("The title is empty. Write a title first.", field="title")
    if len(title) > TITLE_LENGTH:
        raise InvalidInputError(
            f"The title has {len(title)} characters; the limit is {TITLE_LENGTH}. Choose a shorter title.",
            field="title",
        )
    return {"title": title, "title_source": TitleSource.PERSON}


def mark_seen(sessions: Any, seq: int) -> bool:
    """Mark the events up to `seq` as seen. Return False if nothing changed."""
    # In one statement: tabs report different positions, and the highest counts. A browser may claim any `seq`.
    seen = Least(seq, F("last_seq"))
    return bool(sessions.annotate(seen=Coalesce("seen_seq", 0)).filter(seen__lt=seen).update(seen_seq=seen))


def forget_title_of_first_message(session: Session, *, keeps_title_of_model: bool = False) -> None:
    """Clear the title if all messages are rewound; the next message gives a new title. A user's own title stays.

    Args:
        keeps_title_of_model: leave a model's title until the model gives another after the next answer.
    """
    effective = Event.objects.filter(find_rewinds(session.pk).in_effect, session=session.pk)
    if effective.exists():
        return
    row = Session.objects.filter(pk=session.pk)
    if keeps_title_of_model and row.filter(title_source=TitleSource.MODEL).update(
        title_source=TitleSource.MESSAGE
    ):
        return
    titled = row.exclude(title_source=TitleSource.PERSON)
    titled.update(title="", title_source=TitleSource.MESSAGE)


def take_title_of_first_message(session: Session) -> bool:
    """Take the title from the first effective message, if the last rewind put this message into effect.

    Return False if the title stays. A user's own title always stays.
    """
    # A switch within the conversation keeps its first message, and so the title, which a model may have made.
    rewinds = find_rewinds(session.pk)
    step = rewinds.path.steps[-1] if rewinds.path.steps else None
    first = session.events.filter(rewinds.in_effect).order_by("seq").first()
    if step is None or first is None or any(first.seq in span for span in step.before):
        return False
    title = _title_of(first)
    untitled = Session.objects.filter(pk=session.pk).exclude(title_source=TitleSource.PERSON)
    return bool(title and untitled.update(title=title, title_source=TitleSource.MESSAGE))


def _title_of(message: Event) -> str:
    """Return the title for a message: from its text, else the name of its first file; empty without either."""
    content = event_to_show(message.body).content
    references = map(ArtifactReference.of_part, parts_in(content))
    return title_from(message.text or next((file.filename for file in references if file), ""))


def title_from(text: str) -> str:
    """Return the title for a session whose first message is `text`: one line, cut between words at 80 characters.

    The title is without marks of Markdown, unless the text has a secret: without them it might not be masked later.
    """
    beginning = text[:MAX_READ_LENGTH]
    line = " ".join(text.split())
    plain = plain_line(beginning).strip()
    if plain and plain != line and mask_text(beginning) == beginning:
        line = plain
    if len(line) <= 80:
        return line
    # `beginning_of` leaves a secret at the end out: a part of it would not be recognized and masked later.
    return f"{beginning_of(line, 80).rsplit(' ', 1)[0]}…"
