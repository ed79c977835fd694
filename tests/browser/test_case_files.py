"""Contract: the page in a bundle of a case file checks it without a network, and names what was changed."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from playwright.sync_api import Browser, Page, expect

from sessions_app.data_protection.bundles.checking import check_bundle
from sessions_app.data_protection.bundles.writing import verifying_page
from tests.browser.accessibility import problems_on_a_phone, serious_problems_in_both_schemes
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import STAFF, OpenTab
from tests.browser.model import Model
from tests.browser.test_audit import audit_url
from tests.model_server import Turn

pytestmark = [pytest.mark.browser]
KEPT = Path(__file__).with_name("case.zip")
Files = dict[str, bytes]


def kept_files() -> Files:
    with ZipFile(KEPT) as kept:
        return {name: kept.read(name) for name in kept.namelist()}


def write(path: Path, files: Files) -> Path:
    with ZipFile(path, "w", ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return path


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """The page from a file, in a browser without a network; it must ask for nothing."""
    path = tmp_path / "verify.html"
    path.write_bytes(verifying_page())
    context = browser.new_context(offline=True, reduced_motion="reduce")
    page = context.new_page()
    errors: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    yield page
    assert (errors, asked) == ([], [path.as_uri()])
    context.close()


def verdict(page: Page, path: Path) -> str:
    """Give the bundle to the page; return what it says."""
    page.locator("#verdict").evaluate("(line) => { line.textContent = 'Computing…' }")
    page.locator("#bundle").set_input_files(path)
    expect(page.locator("#verdict")).not_to_have_text("Computing…")
    return page.locator("#verdict").inner_text()


def forge(files: Files) -> None:
    """Write a manifest for the files as they are now."""
    listed = [
        {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in files.items()
        if name != "manifest.json"
    ]
    files["manifest.json"] = json.dumps({"files": listed}).encode()


def change(files: Files, *folders: str, old: bytes = b"I am sorry.", new: bytes = b"I am happy.") -> None:
    for name in files:
        if name.split("/")[0] in folders:
            files[name] = files[name].replace(old, new)


def forged(*folders: str, **words: bytes) -> Callable[[Files], None]:
    def change_and_forge(files: Files) -> None:
        change(files, *folders, **words)
        forge(files)

    return change_and_forge


CHANGES: dict[str, Callable[[Files], Any]] = {
    "was changed: its SHA-256": lambda files: change(files, "records"),
    "artifacts.json is missing": lambda files: files.pop("artifacts.json"),
    "“more.txt” was added": lambda files: files.update({"more.txt": b""}),
    "“../x” is no name of a file in a bundle: do not unpack it": lambda files: files.update({"../x": b""}),
    "“[U+202E]x” was added": lambda files: files.update({"\u202ex": b""}),
    "event 2 of the export was altered": forged("sessions"),
    "event 2 was altered": forged("chains", "sessions"),
    "event 2 is missing": forged("chains", old=b'{"seq": 2', new=b'{"seq": 3'),
    "its beginning (app, owner and first state) was altered": forged(
        "chains", old=b"help_desk", new=b"payroll"
    ),
    "is not the one that the signed root 1 has": forged(
        "chains", old=b'"path": ["', new=b'"path": ["L00", "'
    ),
}


def hide(content: bytes, record: bytes) -> bytes:
    """Put a file that its list does not name into a zip, as a stream has it: before the list."""
    with ZipFile(BytesIO(content)) as bundled:
        directory = bundled.start_dir
        name = next(name for name in bundled.namelist() if name.startswith("records/"))
    other = BytesIO()
    with ZipFile(other, "w") as made:
        made.writestr(name, record)
    hidden = other.getvalue()[: made.start_dir]
    end = content[-22:-6] + struct.pack("<LH", directory + len(hidden), 0)
    return content[:directory] + hidden + content[directory:-22] + end


def forge_root(files: Files) -> None:
    """Write another time into the head of the root, whose signature stays."""
    change(files, "chains", old=b'\\"number\\": 1,', new=b'\\"number\\": 1 ,')
    forge(files)


CHANGES["root 1 does not have the signature of this key"] = forge_root


def test_the_page_says_what_holds(page: Page, tmp_path: Path) -> None:
    assert verdict(page, KEPT) == "All in this bundle fits together. Compare the number of the seal."
    findings = page.locator("#findings")
    expect(findings).to_contain_text("4 events follow from each other, and the export has the same events.")
    expect(findings).to_contain_text("by the signed root 1. Its signature is that of the key.")
    expect(findings.locator(".bad")).to_have_count(0)
    expect(findings.locator(".open")).to_contain_text(
        [
            "compare it with the one that the site has recorded.",
            "compare it with that of the site's public key",
        ]
    )
    expect(page.locator("#title")).to_have_text("Lamp")
    expect(page.locator("#entries")).to_contain_text("Look at #2.")
    number = hashlib.sha256(kept_files()["manifest.json"]).hexdigest()
    page.locator("#number").fill(f" {number.upper()} ")
    expect(findings).to_contain_text("The number of the seal is the one that you gave")
    page.locator("#number").fill("0" * 64)
    expect(page.locator("#verdict")).to_contain_text("and not the one that you gave")
    folder = tmp_path / "unpacked"
    with ZipFile(KEPT) as kept:
        kept.extractall(folder)
    page.locator("#number").fill(number)
    page.locator("#folder").set_input_files(folder)
    expect(page.locator("#verdict")).to_have_text("This bundle holds.")
    assert serious_problems_in_both_schemes(page) == []
    assert problems_on_a_phone(page) == []


def test_the_page_names_each_change(page: Page, tmp_path: Path) -> None:
    for number, (words, change_files) in enumerate(CHANGES.items()):
        files = kept_files()
        change_files(files)
        assert words in verdict(page, write(tmp_path / f"{number}.zip", files)), words
    content = KEPT.read_bytes()
    (tmp_path / "cut.zip").write_bytes(content[: len(content) // 2])
    assert "This is no whole bundle: it is no zip file." in verdict(page, tmp_path / "cut.zip")
    odd = {"hidden": hide(content, b"I am happy."), "longer": content + hide(content, b"")[:100]}
    for name, changed in odd.items():
        (tmp_path / f"{name}.zip").write_bytes(changed)
        assert "The zip has bytes outside of its files" in verdict(page, tmp_path / f"{name}.zip"), name
        _number, findings = check_bundle(tmp_path / f"{name}.zip", None)
        assert [finding.words[:39] for finding in findings if not finding.holds] == [
            "The zip has bytes outside of its files:"
        ]
    end = len(content) - 22
    record = content.rindex(b"records/") - 46  # its entry in the list of the zip
    listed = content[record + 46 : record + 46 + int.from_bytes(content[record + 28 : record + 30], "little")]
    too_large = {
        "it has more than 65,534 files": content[: end + 10] + b"\xff\xff" + content[end + 12 :],
        "4 GB (ZIP64)": content[: end + 16] + b"\xff\xff\xff\xff" + content[end + 20 :],
        f"because {listed.decode()} is larger than 1 GB. Use manage.py adk_verify": (
            content[: record + 24] + b"\1\0\0\x40" + content[record + 28 :]
        ),
    }
    for number, (words, damaged) in enumerate(too_large.items()):
        (tmp_path / f"large-{number}.zip").write_bytes(damaged)
        said = verdict(page, tmp_path / f"large-{number}.zip")
        assert words in said and "This page cannot check the bundle" in said, words
    page.evaluate("() => { crypto.subtle.importKey = () => Promise.reject(new Error('Ed25519')) }")
    assert "This browser cannot check signatures (Ed25519)" in verdict(page, KEPT)


@pytest.mark.stack
def test_staff_collect_a_session_and_its_page_fits(chat: ChatPage, open_tab: OpenTab, model: Model) -> None:
    model.play(Turn(text=["I am sorry."]))
    chat.send("My lamp is broken")
    chat.wait_for_answer("I am sorry.")
    chat.wait_until_idle()
    tab = open_tab(STAFF)
    admin = tab.page
    admin.goto(f"{chat.base_url}/admin/sessions_app/session/")
    admin.locator(f"input[value='{chat.session_id}']").check()
    admin.get_by_role("button", name="Add the chosen to a case file…").click()
    assert serious_problems_in_both_schemes(admin) == []
    admin.get_by_label("Title of a new case file").fill("Lamps")
    admin.get_by_role("button", name="Add", exact=True).click()
    expect(admin.locator("#items + ul a")).to_have_text("My lamp is broken")
    admin.goto(f"{audit_url(chat)}?event=2")
    admin.locator("#event-2").get_by_role("link", name="Add to a case file…").click()
    admin.get_by_label("Case file:", exact=True).select_option(label="Lamps")
    admin.get_by_label("Note").fill("Look at this answer.")
    admin.get_by_role("button", name="Add", exact=True).click()
    expect(admin.get_by_role("link", name="#2")).to_be_visible()
    expect(admin.locator("#entries + ol")).to_contain_text("Look at this answer.")
    assert serious_problems_in_both_schemes(admin) == []
    admin.set_viewport_size({"width": 390, "height": 800})
    assert admin.evaluate("document.documentElement.scrollWidth") <= 390
    tab.errors.clear()  # axe itself sets inline styles, which the content security policy refuses
