"""Opinions of people about answers: given, changed, withdrawn and listed."""

from collections.abc import Iterable

from runtime.valid_text import storable
from sessions_app.errors import InvalidInputError, NotFoundError
from sessions_app.models import Feedback, Rating, Session
from sessions_app.models.feedback import MAX_COMMENT_LENGTH


def give_feedback(session: Session, seq: int, rating: str, comment: str) -> None:
    """Store the owner's opinion of an event, replacing an earlier opinion.

    Raises:
        InvalidInputError: there is no such rating, or the comment is too long.
        NotFoundError: the session has no such event of an agent.
    """
    if rating not in Rating.values:
        raise InvalidInputError(
            f"{rating!r} is no rating. Send one of {', '.join(Rating.values)}.", field="rating"
        )
    if len(comment) > MAX_COMMENT_LENGTH:
        raise InvalidInputError(
            f"The comment has {len(comment)} characters; the limit is {MAX_COMMENT_LENGTH}. Shorten it.",
            field="comment",
        )
    if not session.events.filter(seq=seq).exclude(author="user").exists():
        raise NotFoundError("There is no such answer in this chat.")
    opinion = {"rating": rating, "comment": storable(comment.replace("\0", ""))}
    Feedback.objects.update_or_create(session=session, seq=seq, user_id=session.user_id, defaults=opinion)


def withdraw_feedback(session: Session, seq: int) -> None:
    """Delete the owner's opinion of an event, if any."""
    Feedback.objects.filter(session=session, seq=seq, user_id=session.user_id).delete()


def feedback_of(session: Session, seqs: Iterable[int]) -> dict[int, dict[str, str]]:
    """Return the owner's opinions of some events by `seq`."""
    rows = Feedback.objects.filter(session=session, user_id=session.user_id, seq__in=seqs)
    return {row.seq: {"rating": row.rating, "comment": row.comment} for row in rows}
