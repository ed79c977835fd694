"""Check of a bundle without the database. `static/sessions_app/admin/bundle.js` does the same in a browser."""

import base64
import hashlib
import json
import os
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sessions_app.data_protection.archive import MANIFEST, is_as_listed
from sessions_app.errors import InvalidInputError
from sessions_app.history.evidence.hash_tree import tree_above

DAMAGES = (BadZipFile, zlib.error, EOFError, OSError, RuntimeError)
"""Exceptions of `zipfile` for changed bytes, and for encrypted files and unknown methods."""
_NO_BUNDLE = (*DAMAGES, ValueError, LookupError, TypeError, AttributeError)
_MAX_JSON = 1024**3
FIRST_RULE_LENGTH = 2 * 32
"""Length in hexadecimal of a hash by the first rule of `history.evidence.integrity`."""
HASH_LENGTH = 2 * 33
"""Length of a hash by the present rule."""


@dataclass(frozen=True)
class Finding:
    """A statement about a bundle, as a sentence, and whether it holds."""

    holds: bool
    words: str


def is_as_sealed(file: IO[bytes], number: str) -> bool:
    """True if the bundle in a file holds and has this number of the seal."""
    try:
        with ZipFile(file) as bundle:
            sha256, findings = _check(bundle, None)
    except _NO_BUNDLE:
        return False
    return sha256 == number and all(finding.holds for finding in findings)


def check_bundle(path: Path, key: Ed25519PublicKey | None) -> tuple[str, list[Finding]]:
    """Return the SHA-256 of the manifest, and what holds and what does not.

    Args:
        key: public key of the signed roots; None to leave out the signatures.

    Raises:
        InvalidInputError: the file is no bundle.
    """
    try:
        with ZipFile(path) as bundle:
            return _check(bundle, key)
    except _NO_BUNDLE as error:
        raise InvalidInputError(f"'{path}' is no bundle of a case file, or was damaged: {error}") from error


def _check(bundle: ZipFile, key: Ed25519PublicKey | None) -> tuple[str, list[Finding]]:
    manifest = _read(bundle, MANIFEST)
    listed = {file["name"]: file for file in json.loads(manifest)["files"]}
    findings = list(_check_files(bundle, listed))
    if not findings:
        findings.append(Finding(True, f"All {len(listed)} files are those that the manifest names."))
    for item in json.loads(_read(bundle, "case.json"))["items"]:
        if item["erased_at"]:
            words = f"Session {item['session']} was erased before the seal: only its number is here."
            findings.append(Finding(True, words))
        elif f"chains/{item['name']}.json" not in bundle.namelist():
            findings.append(
                Finding(False, f"chains/{item['name']}.json is missing: nothing proves the item.")
            )
        else:
            findings += _check_item(bundle, item, key)
    return hashlib.sha256(manifest).hexdigest(), findings


def _check_files(bundle: ZipFile, listed: dict[str, Any]) -> Iterator[Finding]:
    stored = Counter(bundle.namelist())
    if not _is_plain(bundle):
        words = "The zip has bytes outside of its files: do not unpack it, other programs may find other files there."
        yield Finding(False, words)
    for name, count in sorted(stored.items()):
        if count > 1:
            yield Finding(False, f"{name} is in the bundle twice.")
    for name in sorted({*stored, *listed} - {MANIFEST}):
        if name.startswith("/") or "\\" in name or ".." in name.split("/"):
            yield Finding(False, f"{name!r} is no name of a file in a bundle: do not unpack it.")
        elif name not in listed:
            yield Finding(False, f"{name!r} was added: the manifest does not name it.")
        elif name not in stored:
            yield Finding(False, f"{name} is missing.")
        elif not _is_as_listed(bundle, listed[name]):
            yield Finding(False, f"{name} was changed: its SHA-256 is not that in the manifest.")


def _is_plain(bundle: ZipFile) -> bool:
    """True if the files follow each other from the first byte to the list, and the zip ends with its list.

    `zipfile` believes the list; programs that read a zip as a stream also unpack what lies between.
    """
    file: Any = bundle.fp
    # The numbers are those of the zip format: a file has a header of 30 bytes, with the lengths of its name and its
    # extra field from byte 26 on, and the zip ends with a record of 22 bytes, of which the last two are the length of
    # a comment.
    reached = 0
    for info in sorted(bundle.infolist(), key=lambda info: info.header_offset):
        if info.header_offset != reached:
            return False
        file.seek(reached + 26)
        lengths = struct.unpack("<HH", file.read(4))
        reached += 30 + sum(lengths) + info.compress_size
    file.seek(-22, os.SEEK_END)
    end = file.read(22)
    return reached == bundle.start_dir and end[:4] == b"PK\5\6" and end[20:] == b"\0\0"


def _is_as_listed(bundle: ZipFile, entry: dict[str, Any]) -> bool:
    try:
        return is_as_listed(bundle, entry)
    except DAMAGES:
        return False


def _read(bundle: ZipFile, name: str) -> bytes:
    if bundle.getinfo(name).file_size > _MAX_JSON:
        raise InvalidInputError(f"{name} is larger than {_MAX_JSON} bytes.")
    return bundle.read(name)


def _check_item(bundle: ZipFile, item: dict[str, Any], key: Ed25519PublicKey | None) -> Iterator[Finding]:
    chain = json.loads(_read(bundle, f"chains/{item['name']}.json"))
    seq = item["seq"]
    if seq:
        name = f"Event {seq} of session {item['session']}"
        exported = [json.loads(_read(bundle, f"events/{item['name']}.json"))]
        numbers = [seq]
    else:
        name = f"Session {item['session']}"
        exported = json.loads(_read(bundle, f"sessions/{item['name']}.json"))["events"]
        numbers = list(range(1, item["events"] + 1))
    events = chain["events"]
    bad = _first_flaw(chain, numbers, exported)
    if chain["session"] != item["session"]:
        bad = "the chain is that of another session."
    if bad:
        yield Finding(False, f"{name}: {bad}")
    else:
        words = f"{name}: {len(events)} events follow from each other, and the export has the same events."
        if seq:
            words = f"{name}: the export has the event that was hashed."
        if masked := sum("body" not in event for event in events):
            words += f" Masked events whose hashes only the site can compute: {masked}."
        yield Finding(True, words)
    yield _check_proof(name, chain, key)


def _first_flaw(chain: dict[str, Any], numbers: list[int], exported: list[Any]) -> str:
    """Return what is wrong with the first bad event; empty if nothing is."""
    previous = chain["previous"] or _beginning(chain)
    if not previous:
        return "its beginning (app, owner and first state) was altered."
    for place, event in enumerate(chain["events"]):
        seq = event["seq"]
        if place >= len(numbers) or seq != numbers[place]:
            return f"event {numbers[min(place, len(numbers) - 1)]} is missing."
        if "body" in event:
            if len(previous) != HASH_LENGTH:
                previous = chain["link"]
            if event["hash"] != _link(previous, event):
                return f"event {seq} was altered."
            if place >= len(exported) or exported[place] != json.loads(event["body"]):
                return f"event {seq} of the export was altered: the chain has another one."
        previous = event["hash"]
    if len(chain["events"]) < len(numbers):
        return f"event {numbers[len(chain['events'])]} is missing."
    return "" if len(exported) == len(numbers) else "the export has another number of events than the chain."


def _beginning(chain: dict[str, Any]) -> str:
    """Return the hash before the first event; empty if it was altered."""
    if chain["begin"] is not None:
        # Covers the last hash by the first rule, too, in a log that has some.
        last_old = ""
        for event in chain["events"]:
            if len(event["hash"]) == FIRST_RULE_LENGTH:
                last_old = event["hash"]
        link = hashlib.sha256(bytes.fromhex(last_old) + chain["begin"].encode()).hexdigest()
        if link != chain["link"]:
            return ""
    return str(chain["link"])


def _link(previous: str, event: dict[str, Any]) -> str:
    """Return the hash that an event must have: see `history.evidence.integrity`."""
    text = f"{event['seq']} {event['body']}{event['before']}{event['facts']}"
    before = bytes.fromhex(previous)
    return "02" + hashlib.sha256(before + text.encode()).hexdigest()


def _check_proof(name: str, chain: dict[str, Any], key: Ed25519PublicKey | None) -> Finding:
    proof = chain["proof"]
    if proof is None:
        return Finding(
            True, f"{name}: no signed root covers it yet, so only the site vouches for its hashes."
        )
    root = json.loads(proof["head"])
    seq = int(proof["row"].split(" ")[2])
    hashes = {event["seq"]: event["hash"] for event in chain["events"]}
    row = f"event {chain['session']} {seq} {hashes.get(seq)}"
    if proof["row"] != row or tree_above(row, proof["path"]) != root["tree"]:
        return Finding(
            False, f"{name}: event {seq} is not the one that the signed root {root['number']} has."
        )
    words = (
        f"{name}: event {seq} and all before it were so at {root['at']}, by the signed root {root['number']}."
    )
    if key is None:
        return Finding(True, f"{words} Its signature was not checked: give the public key.")
    try:
        key.verify(base64.b64decode(proof["signature"]), proof["head"].encode())
    except InvalidSignature:
        return Finding(False, f"{name}: root {root['number']} does not have the signature of this key.")
    return Finding(True, f"{words} Its signature is that of the key.")
