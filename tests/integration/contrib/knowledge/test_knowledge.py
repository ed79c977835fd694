"""Knowledge bases: an agent finds passages of files that its person may read, and cites them (contract T9)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from runtime.agents import LlmAgent
from runtime.events import Event as AdkEvent
from runtime.models import LlmRequest
from runtime.testing.scripted_model import Turn
from runtime.tools.agent_tool import AgentTool
from runtime.tools.retrieval import KnowledgeToolset
from sessions_app.data_protection.erase import ErasureOrder, erase_session
from sessions_app.models import (
    Event,
    Feedback,
    KnowledgeBase,
    KnowledgeSearch,
    KnowledgeUse,
    KnowledgeVersion,
    Remit,
    ShareLink,
    StaffAct,
)
from sessions_app.process.threads import in_thread
from sessions_app.rendering.sources import sources_of
from tests.fakes import ScriptedModel, call
from tests.integration.admin.audit_rows import list_url, sign_in
from tests.integration.contrib.knowledge.bases import make_base, read
from tests.integration.data_protection.people import files_with, found_in_database
from tests.integration.jobs.job_helpers import talk
from tests.integration.locks import blocked, held
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("background_end")
APP = "shop"


def first_text(found: list[Any]) -> str:
    return str(found[0]["text"]) if found else "I found nothing."


def clerk(
    *bases: str, name: str = APP, query: str = "", rule: Callable[[list[Any]], str] = first_text
) -> LlmAgent:
    """Return an agent that looks up each message, and says of the passages what the rule says."""

    def answer(request: LlmRequest) -> Turn:
        part = (request.contents[-1].parts or [])[0]
        if part.function_response:
            return rule((part.function_response.response or {})["passages"])
        # After a transfer the last content is not the message.
        return call("search_knowledge", query=query or part.text)

    return LlmAgent(name=name, model=ScriptedModel(rule=answer), tools=[KnowledgeToolset(bases=bases)])


def answer_to(person: User, text: str, app: str = APP) -> AdkEvent:
    session_id = talk(person, app, text)
    return AdkEvent.model_validate(Event.objects.filter(session_id=session_id).latest("seq").body)


def test_an_answer_cites_the_passage_with_document_and_heading(person: User, served: Served) -> None:
    version = read(make_base())
    assert version.status == "current", version.error
    served(clerk("handbook"))
    event = answer_to(person, "What happens with late returns?")
    assert event.text() == "After 14 days a voucher is given."
    titles = [source.title for source in sources_of(event).listed]
    assert titles[0] == "shop.md, Shop / Refunds / Late returns"
    search = KnowledgeSearch.objects.get()
    assert (search.query, search.agent_name, search.bases) == (
        "What happens with late returns?",
        APP,
        "handbook",
    )
    use = KnowledgeUse.objects.get(rank=1)
    assert (use.search, use.place, use.version_number) == (search, "Shop / Refunds / Late returns", 1)


@pytest.mark.usefixtures("loop_end")
async def test_a_version_that_is_replaced_during_a_search_does_not_fail_the_answer(
    person: User, served: Served
) -> None:
    base = await in_thread(make_base)
    await in_thread(read, base, "a.txt", "Old lamp")
    await in_thread(read, base, "b.txt", "Another lamp")
    served(clerk("handbook"))
    async with held("LOCK TABLE sessions_app_knowledgesearch IN SHARE ROW EXCLUSIVE MODE"):
        answering = asyncio.create_task(in_thread(answer_to, person, "lamp"))
        await blocked(1)
        await in_thread(read, base, "a.txt", "New lamp")
    assert "lamp" in (await answering).text()
    search = await KnowledgeSearch.objects.aget()
    uses = [use async for use in search.uses.select_related("document")]
    assert (search.found, [use.document.name for use in uses]) == (2, ["b.txt"])


def test_a_search_finds_only_what_its_person_may_read_in_this_app_with_this_agent(
    person: User, served: Served
) -> None:
    """The matrix: base, group, agent, sub-agent, agent as a tool."""
    members = Group.objects.create(name="members")
    bob = User.objects.create_user("bob")
    bob.groups.add(members)
    bases: dict[str, dict[str, Any]] = {
        "open": {},
        "for shop": {"app_name": APP},
        "for others": {"app_name": "other"},
        "for members": {"people": members},
        "unnamed": {},
    }
    for base, values in bases.items():
        read(make_base(base, **values), f"{base}.txt", f"The lamp of {base}")
    named = ["open", "for shop", "for others", "for members", "missing"]

    def found(user: User, app: str, text: str = "lamp") -> set[str]:
        event = answer_to(user, text, app)
        return {source.title.removesuffix(".txt") for source in sources_of(event).listed}

    helper = clerk("unnamed", name="helper", query="lamp")
    served(
        clerk(*named),
        clerk(*named, name="other"),
        LlmAgent(
            name="parent",
            model=ScriptedModel(rule=transfer),
            tools=[KnowledgeToolset(bases=["open"])],
            sub_agents=[helper],
        ),
        LlmAgent(
            name="asker",
            model=ScriptedModel(rule=ask_helper),
            tools=[AgentTool(clerk("unnamed", name="helper"), propagate_grounding_metadata=True)],
        ),
        LlmAgent(name="bare", model=ScriptedModel(rule=lambda request: "Hello")),
    )
    assert found(person, APP) == {"open", "for shop"}
    assert found(bob, APP) == {"open", "for shop", "for members"}
    assert found(person, "other") == {"open", "for others"}
    assert found(person, "parent") == {"unnamed"}
    assert found(person, "asker") == {"unnamed"}
    assert found(person, "bare") == set()
    # The search of an agent that runs as a tool belongs to the session of its caller.
    assert set(KnowledgeSearch.objects.values_list("session__app_name", flat=True)) == {
        APP, "other", "parent", "asker",
    }  # fmt: skip
    members.user_set.clear()
    assert found(bob, APP) == {"open", "for shop"}
    User.objects.filter(pk=bob.pk).update(is_superuser=True)
    assert found(bob, APP) == {"open", "for shop"}, "rights of staff open no base in a chat"


def transfer(request: LlmRequest) -> Turn:
    return call("transfer_to_agent", agent_name="helper")


def ask_helper(request: LlmRequest) -> Turn:
    part = (request.contents[-1].parts or [])[0]
    return "Done." if part.function_response else call("helper", request=part.text)


def shown(reader: Client, url: str) -> str:
    """Return a page that is streamed in pieces."""

    async def read_pieces() -> bytes:
        return b"".join([piece async for piece in response.streaming_content])  # type: ignore[attr-defined]

    response = reader.get(url)
    return asyncio.run(read_pieces()).decode()


def test_the_reader_of_a_shared_chat_sees_sources_and_not_the_passages(
    person: User, served: Served, settings: Settings
) -> None:
    settings.ADK = {**settings.ADK, "share_links": True}
    read(make_base(), "handbook.txt", "The lamp has a secret ingredient.")
    served(clerk("handbook", rule=lambda found: "It is in the handbook."))
    session_id = talk(person, APP, "lamp")
    link = ShareLink.objects.create(session_id=session_id)
    reader = Client()
    reader.force_login(User.objects.create_user("eve"))
    page = shown(reader, reverse("chat:shared", args=[link.token]))
    assert "It is in the handbook." in page and "handbook.txt" in page
    assert "secret ingredient" not in page


def test_a_source_opens_for_those_who_may_read_the_base_and_were_told_of_the_passage(
    person: User, served: Served, settings: Settings, client: Client
) -> None:
    """The matrix: base, app, group, agent, person; staff have no more rights here."""
    members = Group.objects.create(name="members")
    person.groups.add(members)
    base = make_base(people=members, app_name=APP)
    version = read(base, "shop.md", "# Lamps\n\nA <b>green</b> lamp\n\n# Desks\n\nA desk")
    other_version = read(make_base("unnamed"), "other.txt", "A lamp, too")
    served(clerk("handbook", query="lamp"))
    [source] = sources_of(answer_to(person, "lamp")).listed

    def status(reader: User, url: str = source.url) -> int:
        client.force_login(reader)
        return client.get(url).status_code

    page = reader_page(client, person, source.url)
    assert "shop.md" in page and "Lamps" in page and "A green lamp" in page and "A desk" not in page
    bob = User.objects.create_user("bob", is_superuser=True, is_staff=True)
    bob.groups.add(members)
    assert status(bob) == 404, "no agent has told bob"
    for passage in (version.passages.get(position=1), other_version.passages.get()):
        assert status(person, reverse("chat:passage", args=[passage.pk])) == 404, "no agent has found it"
    KnowledgeBase.objects.filter(pk=base.pk).update(app_name="other")
    assert status(person) == 404
    KnowledgeBase.objects.filter(pk=base.pk).update(app_name="")
    assert status(person) == 200
    members.user_set.remove(person)
    assert status(person) == 404
    members.user_set.add(person)
    read(base, "shop.md", "A green lamp")
    assert status(person) == 404, "the passage was replaced"


def reader_page(client: Client, reader: User, url: str) -> str:
    client.force_login(reader)
    return client.get(url).content.decode()


def test_staff_see_what_was_not_found_and_the_passages_of_bad_answers(
    person: User, served: Served, client: Client
) -> None:
    read(make_base())
    served(clerk("handbook"))
    answer_to(person, "What is the weather?")
    session_id = talk(person, APP, "When do parcels arrive?")
    last = Event.objects.filter(session_id=session_id).latest("seq")
    Feedback.objects.create(
        session_id=session_id, user=person, seq=last.seq, rating="bad", comment="<b>Wrong"
    )
    sign_in(client, "knowledgesearch", "knowledgedocument")
    nothing = client.get(list_url("knowledgesearch", "?outcome=nothing")).content.decode()
    assert "What is the weather?" in nothing and "parcels" not in nothing
    bad = client.get(list_url("knowledgesearch", "?outcome=bad")).content.decode()
    assert "parcels" in bad and "weather" not in bad
    search = KnowledgeSearch.objects.get(found__gt=0)
    page = client.get(reverse("admin:sessions_app_knowledgesearch_change", args=[search.pk])).content.decode()
    assert "Parcels arrive on Tuesdays." in page and "Shop / Delivery" in page and "&lt;b&gt;Wrong" in page
    document = KnowledgeUse.objects.get(search=search, rank=1).document
    response = client.get(reverse("admin:sessions_app_knowledgedocument_change", args=[document.pk]))
    assert "1: <bdi>Shop / Delivery" in response.content.decode(), "the most found"
    assert "A broken lamp is refunded within 14 days." in response.content.decode(), "not found by any search"
    staff = User.objects.get(username="staff")
    staff.user_permissions.remove(Permission.objects.get(codename="view_text"))
    assert client.get(list_url("knowledgesearch")).status_code == 403


def test_staff_upload_within_their_remits(client: Client) -> None:
    group = Group.objects.create(name="clerks")
    Remit.objects.create(group=group, app_name=APP)
    own, other = make_base("own", app_name=APP), make_base("of all apps")
    sign_in(
        client, "knowledgedocument", "knowledgebase", rights=["add_knowledgedocument", "change_knowledgebase"]
    )
    User.objects.get(username="staff").groups.add(group)
    url = reverse("admin:sessions_app_knowledgedocument_add")
    for name, status in (("a.md", 302), ("a.exe", 200), ("empty.md", 200)):
        data = SimpleUploadedFile(name, b"" if "empty" in name else b"# A\n\nwords")
        assert client.post(url, {"base": own.pk, "file": data}).status_code == status, name
    assert client.post(url, {"base": other.pk, "file": SimpleUploadedFile("b.md", b"b")}).status_code == 200
    assert [str(version) for version in KnowledgeVersion.objects.all()] == ["a.md v1"]
    documents = client.get(list_url("knowledgedocument")).content.decode()
    assert "of all apps" not in documents and "base__name=own" in documents
    values = {"name": "own", "description": "", "app_name": "", "people": ""}
    change = reverse("admin:sessions_app_knowledgebase_change", args=[own.pk])
    assert client.post(change, values).status_code == 403
    assert client.get(reverse("admin:sessions_app_knowledgebase_change", args=[other.pk])).status_code == 404
    assert StaffAct.objects.get().subject_kind == "knowledgedocument"


def test_staff_are_told_that_the_storage_of_files_is_down(client: Client, settings: Settings) -> None:
    base = make_base()
    sign_in(client, "knowledgedocument", rights=["add_knowledgedocument"])
    settings.MEDIA_ROOT = settings.MEDIA_ROOT / "file"
    settings.MEDIA_ROOT.write_bytes(b"no directory")
    url = reverse("admin:sessions_app_knowledgedocument_add")
    data = {"base": base.pk, "file": SimpleUploadedFile("a.md", b"words")}
    page = client.post(url, data, follow=True)
    assert "The storage of files does not answer. Try again." in page.content.decode()
    assert not base.documents.exists()


def test_nothing_of_a_document_or_a_search_stays(person: User, served: Served) -> None:
    served(clerk("handbook"))
    base = make_base()
    read(base, "first.txt", "The password of the safe is zebra42", user=person)
    session_id = talk(person, APP, "Where is the zebra42?")
    assert "sessions_app_knowledgesearch" in found_in_database("zebra42")
    erase_session(session_id, ErasureOrder("Asked for."))
    assert found_in_database("zebra42") == ["sessions_app_knowledgepassage"]
    person.delete()
    assert KnowledgeVersion.objects.get().uploaded_by is None
    read(base, "first.txt", "Nothing any more")
    assert found_in_database("zebra42") == []
    assert files_with("zebra42") == 1, "the file of an earlier version is kept"
    base.delete()
    assert files_with("zebra42") == 0
