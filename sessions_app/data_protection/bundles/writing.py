"""Bundle of a case file: a zip with all that a reader outside of the site needs to read and to check it.

case.json            title, items, notes and readings, and the public key of the signed roots
verify.html          page that checks the bundle in a browser without a network
records/<id>.html    record of each session, and of each single event as <id>-<seq>.html
chains/<id>.json     hashes of each session or event, and their proof against a signed root: see `chains`
events/<id>-<seq>.json, sessions/<id>.json and further files: the export of the sessions, which can be imported
manifest.json        SHA-256 of all other files. Its own SHA-256 is the number of the seal.
"""

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import mark_safe

import sessions_app
from sessions_app.asgi.artifact_files import CHUNK_BYTES
from sessions_app.conf import conf
from sessions_app.data_protection.archive import Archive
from sessions_app.data_protection.bundles.chains import chain_of
from sessions_app.data_protection.export import event_json, write_sessions
from sessions_app.data_protection.transcripts.pages import write_record
from sessions_app.errors import ConflictError
from sessions_app.history.evidence.proofs import Proofs
from sessions_app.history.evidence.root_file import load_public_key
from sessions_app.models import CaseFile, CaseItem, ErasedSession, Event, Session
from sessions_app.secrets.masking import mask
from sessions_app.sessions.ownership import User
from sessions_app.store.packs import open_pack

_SCRIPT = Path(sessions_app.__file__).parent / "static/sessions_app/admin/bundle.js"


def write_bundle(case: CaseFile, reader: User, target: Path) -> str:
    """Write the bundle; return the SHA-256 of its manifest.

    Args:
        reader: the user as whom the records are written.

    Raises:
        ConflictError: a session had new events or was erased while the bundle was written.
        InvalidInputError: the newest signed root does not have the signature of the key.
    """
    items = list(case.items.order_by("pk"))
    sessions = Session.objects.select_related("user").in_bulk([item.session_id for item in items])
    for found in sessions.values():
        open_pack(found)
    key = None
    proofs: dict[int, dict[str, Any] | None] = {}
    if conf().roots_place:
        key = load_public_key(Path(conf().roots_public_key))
        proofs = _proofs_of(items, sessions, Proofs(conf().roots_place, key))
    with Archive(target) as archive:
        archive.write_json("case.json", _case_json(case, items, sessions, key))
        archive.write("verify.html", [verifying_page()])
        whole = Session.objects.filter(pk__in=[item.session_id for item in items if not item.seq])
        write_sessions(archive, whole)
        for item in items:
            if session := sessions.get(item.session_id):
                _write_item(archive, item, session, reader, proofs.get(item.pk))
        for session_id, last_seq in Session.objects.filter(pk__in=sessions).values_list("pk", "last_seq"):
            if last_seq != sessions[session_id].last_seq:
                raise ConflictError(f"Session {session_id} went on while it was sealed. Seal it again.")
    return str(archive.files[-1]["sha256"])


def _proofs_of(
    items: list[CaseItem], sessions: dict[UUID, Session], proofs: Proofs
) -> dict[int, dict[str, Any] | None]:
    """Return the proof of the newest event of each item that a root covers, by the item."""
    newest = {}
    for item in items:
        if session := sessions.get(item.session_id):
            events = Event.objects.filter(session=session, seq__range=_events_of(item, session))
            covered = events.filter(pk__lte=proofs.covered).only("pk", "session_id", "seq")
            if event := covered.order_by("-seq").first():
                newest[item.pk] = event
    found = proofs.of(newest.values())
    return {pk: found.get(event.pk) for pk, event in newest.items()}


def _events_of(item: CaseItem, session: Session) -> tuple[int, int]:
    """Return the numbers of the first and the last event of an item."""
    if item.seq:
        return item.seq, item.seq
    return 1, session.last_seq


def _write_item(
    archive: Archive, item: CaseItem, session: Session, reader: User, proof: dict[str, Any] | None
) -> None:
    name = name_of(item)
    first, last = _events_of(item, session)
    archive.write(f"chains/{name}.json", chain_of(session.pk, first, last, proof))
    if item.seq:
        archive.write(f"events/{name}.json", [event_json(session.pk, item.seq)])
    with TemporaryDirectory() as folder:
        record, _sha256 = write_record(session, reader, Path(folder), only=item.seq)
        archive.write(f"records/{name}.html", _chunks(record))


def name_of(item: CaseItem) -> str:
    """Return the name of the item's files, without folder and ending."""
    return f"{item.session_id}-{item.seq}" if item.seq else str(item.session_id)


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _case_json(
    case: CaseFile, items: list[CaseItem], sessions: dict[Any, Session], key: Ed25519PublicKey | None
) -> dict[str, Any]:
    entries = [
        {"kind": entry.kind, "by": entry.actor_name, "at": entry.at, "text": entry.text}
        for entry in case.entries.order_by("pk")
    ]
    public_key = ""
    if key:
        public_key = base64.b64encode(
            key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        ).decode()
    found: dict[str, Any] = mask(
        {
            "site": conf().site_name,
            "case": case.pk,
            "title": case.title,
            "made_by": case.actor_name,
            "made_at": case.at,
            "sealed_at": timezone.now().isoformat(timespec="seconds"),
            "items": [_item_json(item, sessions.get(item.session_id)) for item in items],
            "entries": entries,
        }
    )
    # Not masked: a key in Base64 looks like a secret.
    return {**found, "public_key": public_key}


def _item_json(item: CaseItem, session: Session | None) -> dict[str, Any]:
    row = {"name": name_of(item), "session": item.session_id, "seq": item.seq, "by": item.actor_name}
    if session:
        names = {"title": session.title, "app": session.app_name, "user": session.user.get_username()}
        return {**row, **names, "added_at": item.at, "events": session.last_seq, "erased_at": None}
    erased = ErasedSession.objects.filter(session_id=item.session_id).order_by("-at").first()
    return {**row, "added_at": item.at, "erased_at": erased.at if erased else "unknown"}


def verifying_page() -> bytes:
    """Return the page that checks a bundle, with its script within it."""
    script = _SCRIPT.read_text()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    context = {"script": mark_safe(script), "digest": digest}  # noqa: S308 - a file of this package
    return render_to_string("admin/sessions_app/casefile/verify.html", context).encode()
