"""`manage.py adk_verify`: check event logs against their hash chains and signed roots, and bundles of case files."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError
from django.db import ProgrammingError, transaction
from django.db.models import CharField, Count, Exists, Max, OuterRef, QuerySet
from django.db.models.functions import Cast
from django.template.defaultfilters import pluralize

from sessions_app.data_protection.bundles.checking import Finding, check_bundle
from sessions_app.errors import FilesUnavailableError
from sessions_app.history.evidence.definitions import changed_definitions
from sessions_app.history.evidence.differences import Erased, differences
from sessions_app.history.evidence.integrity import (
    SESSIONS_PER_QUERY,
    changed_ends,
    changed_jobs,
    changed_liftings,
    check_logs,
    check_packs,
)
from sessions_app.history.evidence.root_file import load_public_key, roots_at
from sessions_app.management.site_command import SiteCommand
from sessions_app.models import (
    CaseEntry,
    EntryKind,
    ErasedKind,
    ErasedSession,
    RecordedEnd,
    Session,
    Tombstone,
)
from sessions_app.store.role_privileges import excess_privileges

T = TypeVar("T")


class Command(SiteCommand):
    """Check the logs of sessions. The exit code is 1 if a log or a record differs from what was written."""

    help = "Check that no event was changed, removed, added or moved since the site wrote it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--session", type=UUID, help="only the session with this id")
        parser.add_argument("--app", help="only sessions with this app")
        parser.add_argument(
            "--against",
            help="also compare all rows with the signed roots of adk_seal: its place, or one file",
        )
        parser.add_argument("--public-key", type=Path, help="PEM file with the public key of the roots")
        parser.add_argument("--bundle", type=Path, help="only the bundle of a sealed case file")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write one line for each flaw, then a summary."""
        if options["bundle"]:
            self._check_bundle(options["bundle"], options["public_key"])
            return
        sessions = Session.objects.order_by("pk")
        if options["session"]:
            sessions = sessions.filter(pk=options["session"])
        if options["app"]:
            sessions = sessions.filter(app_name=options["app"])
        self._impossible: set[str] = set()
        definitions = self._write_lines(
            f"{name}: not as this version defines it" for name in changed_definitions()
        )
        beyond = self._write_lines(f"role {right}: beyond deploy/roles.sql" for right in excess_privileges())
        checked, flawed, changed = self._check(sessions)
        self._tell_of_sessions_written_again(sessions)
        if not (options["session"] or options["app"]):
            liftings = self._found(changed_liftings)
            changed += self._write_lines(f"legal hold {pk}: not as it was lifted" for pk in liftings)
            self._tell_of_erasures_without_tombstone()
            self._tell_of_erased_people()
            self._tell_of_later_ends()
        summary = f"{checked} session{pluralize(checked)} checked, {flawed} not as they were written."
        different = 0
        if options["against"]:
            different = self._compare(options["against"], options["public_key"])
        counts = [
            (changed, "end", "not as recorded"),
            (definitions, "definition", "not as of this version"),
            (beyond, "right", "beyond deploy/roles.sql"),
            (len(self._impossible), "check", "impossible"),
            (different, "difference", "from the roots"),
        ]
        for count, noun, words in counts:
            if count:
                summary += f" {count} {noun}{pluralize(count)} {words}."
        if flawed or any(count for count, _, _ in counts):
            raise CommandError(summary)
        self.stdout.write(summary)

    def _write_lines(self, lines: Iterable[str]) -> int:
        """Write the lines; return their number."""
        count = 0
        for line in lines:
            self.stdout.write(line)
            count += 1
        return count

    def _check(self, sessions: QuerySet[Session]) -> tuple[int, int, int]:
        """Return the numbers of sessions, of changed logs, and of ends that were changed; write a line for each."""
        ids = sessions.values_list("pk", flat=True).iterator()
        checked = flawed = changed = 0
        while batch := list(islice(ids, SESSIONS_PER_QUERY)):
            checked += len(batch)
            flaws = [*self._found(check_logs, batch), *self._found(check_packs, batch)]
            flawed += self._write_lines(
                f"session {flaw.session_id}, event {flaw.seq}: {flaw.problem}" for flaw in flaws
            )
            changed += self._write_lines(
                f"session {session_id}, invocation {invocation_id}: not as it ended"
                for session_id, invocation_id in self._found(changed_ends, batch)
            )
            changed += self._write_lines(
                f"session {session_id}, job {job_id}: not as it ended"
                for session_id, job_id in self._found(changed_jobs, batch)
            )
        return checked, flawed, changed

    def _found(self, check: Callable[..., Iterable[T]], *args: Any) -> list[T]:
        """Return what a check finds.

        Write a line if it is impossible, because the database is not as it should be, or the storage does not answer.
        """
        if check.__name__ in self._impossible:
            return []
        try:
            with transaction.atomic():
                return list(check(*args))
        except (ProgrammingError, FilesUnavailableError) as error:
            self.stdout.write(f"{check.__name__}: impossible: {error}")
            self._impossible.add(check.__name__)
            return []

    def _check_bundle(self, path: Path, public_key: Path | None) -> None:
        """Write what holds of the bundle and what does not, and whether this site has sealed it."""
        key = None
        if public_key:
            key = load_public_key(public_key)
        sha256, findings = check_bundle(path, key)
        seal = CaseEntry.objects.filter(kind=EntryKind.SEAL, sha256=sha256).first()
        words = f"The number of the seal is {sha256}: this site has sealed no such case file."
        if seal:
            words = f"{seal.actor_name} sealed case file {seal.case_id} at {seal.at:%Y-%m-%d %H:%M:%S}, with {sha256}."
        findings.insert(0, Finding(seal is not None, words))
        for finding in findings:
            self.stdout.write(f"{'holds' if finding.holds else 'BAD'}: {finding.words}")
        bad = sum(not finding.holds for finding in findings)
        if bad:
            raise CommandError(f"The bundle does not hold: {bad} of {len(findings)} findings are bad.")

    def _tell_of_sessions_written_again(self, sessions: QuerySet[Session]) -> None:
        """Write a line for each erased session that has events again: by an import, or by somebody who forges it."""
        again = ErasedSession.objects.filter(session_id__in=sessions.order_by().values("pk"))
        for erased in again.order_by("at"):
            self.stdout.write(
                f"session {erased.session_id}: erased at {erased.at:%Y-%m-%d %H:%M:%S} with {erased.last_seq} "
                f"event{pluralize(erased.last_seq)}, and written again since"
            )

    def _tell_of_erasures_without_tombstone(self) -> None:
        """Write a line for the sessions that were deleted through the ADK API, or by somebody who hides them."""
        bare = ErasedSession.objects.filter(tombstone=None)
        if newest := bare.order_by("at").last():
            count = bare.count()
            self.stdout.write(
                f"{count} session{pluralize(count)} erased without a tombstone, as the ADK API does; "
                f"the last at {newest.at:%Y-%m-%d %H:%M:%S}: {newest.session_id}"
            )

    def _tell_of_erased_people(self) -> None:
        """Write a line for each erasure of a person whose account is there still: interrupted, or to hide records."""
        accounts = (
            get_user_model()
            ._base_manager.annotate(key=Cast("pk", CharField()))
            .filter(key=OuterRef("subject_id"))
        )
        for stone in Tombstone.objects.filter(Exists(accounts), kind=ErasedKind.PERSON).order_by("pk"):
            self.stdout.write(
                f"user {stone.subject_id}: erased at {stone.started_at:%Y-%m-%d %H:%M:%S} by tombstone {stone.pk}, "
                "and the account is there still"
            )

    def _tell_of_later_ends(self) -> None:
        """Write a line for what has ended more than once: by a retry, or by somebody who forges an outcome."""
        ends = RecordedEnd.objects.values("kind", "subject_id", "job_id").annotate(
            ends=Count("pk"), last=Max("at")
        )
        again = ends.filter(ends__gt=1).order_by("last")
        if newest := again.last():
            count = again.count()
            self.stdout.write(
                f"{count} end{pluralize(count)} after an earlier end, as after a retry; the last at "
                f"{newest['last']:%Y-%m-%d %H:%M:%S}: {newest['kind']} {newest['job_id'] or newest['subject_id']}"
            )

    def _compare(self, place: str, public_key: Path | None) -> int:
        """Write one line for each difference, and a summary; return the number of differences."""
        if public_key is None:
            raise CommandError("--against needs --public-key: a root is only as good as its signature.")
        count = different = 0
        erased = Erased()
        for root in roots_at(place, load_public_key(public_key)):
            count += 1
            for difference in differences(root, erased):
                different += 1
                self.stdout.write(f"{difference.row}: {difference.problem}, by {difference.root}")
        self.stdout.write(
            f"{count} root{pluralize(count)} compared, {different} difference{pluralize(different)}. "
            f"The last is {root}, with the SHA-256 {root.sha256}."
        )
        return different
