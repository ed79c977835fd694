"""Overview and failures: numbers of today with a link each, plots without styles, and errors grouped by cause."""

from __future__ import annotations

import html as html_module
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format

from sessions_app.models import (
    DayFigure,
    DayMetric,
    Failure,
    FailureCause,
    PersonUsage,
    Remit,
    Session,
    SessionFigures,
    StaffAct,
)
from sessions_app.rendering.plots import stacked_bars
from tests.integration.admin.audit_rows import (
    HOSTILE,
    append_event,
    list_url,
    page_of,
    read,
    sign_in,
)
from tests.integration.admin.test_large_lists import statements_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_noon")]
TODAY = timezone.localdate
OVERVIEW = ("answerrequest", "dayfigure", "failure", "session", "invocation", "tooljob")


@pytest.fixture
def staff(client: Client) -> Client:
    return sign_in(client, *OVERVIEW)


def add(
    metric: DayMetric, amount: float, name: str = "", detail: str = "", *, age: int = 0, app: str = "shop"
) -> None:
    day = TODAY() - timedelta(days=age)
    DayFigure.objects.create(day=day, app_name=app, metric=metric, name=name, detail=detail, amount=amount)


def tile(html: str, title: str) -> tuple[str, str]:
    """Return number and link of a tile."""
    found = re.search(rf"<dt>{re.escape(title)}</dt>\s*<dd><a href=\"([^\"]*)\">([^<]*)</a>", html)
    assert found, title
    return found[2], html_module.unescape(found[1])


def test_today_is_seen_at_a_glance_and_each_number_leads_to_its_list(staff: Client) -> None:
    for amount, age in ((3, 0), (90, 1)):
        add(DayMetric.PEOPLE, amount, app="", age=age)
        add(DayMetric.INVOCATIONS, amount, "failed", age=age)
        add(DayMetric.CALLS, 10 * amount, "refund", age=age)
        add(DayMetric.FAILURES, amount, "refund", age=age)
        add(DayMetric.TOKENS, 1000 * amount, "clerk", "small", age=age)
        add(DayMetric.COST, amount, "clerk", "small", age=age)
    for bucket in (0, 4, 4, 8):
        add(DayMetric.FIRST_WORD, 1, str(bucket), app=f"shop-{bucket}-{DayFigure.objects.count()}")
    html = read(staff, list_url("dayfigure"))
    numbers = {
        "Active people": "3", "Failed": "3", "Failed calls of tools": "3", "Tokens": "3,000", "Cost": "3.00",
        "Time to first word, median": "2.0 s",
    }  # fmt: skip
    for title, number in numbers.items():
        shown, url = tile(html, title)
        assert shown == number, title
        assert staff.get(url).status_code == 200, (title, url)
    assert "of 30 calls" in html and "95%: 4.0 s" in html
    assert "93,000" in html and "/failure/?tool=refund" in html
    for url in set(re.findall(r'href="(/admin/sessions_app/[^"]+\?[^"]*)"', html)):
        assert staff.get(html_module.unescape(url)).status_code == 200, url


@pytest.mark.parametrize("models", [("dayfigure",), ("dayfigure", "session"), OVERVIEW])
def test_numbers_are_links_to_lists_that_the_user_may_see(
    client: Client, session: Session, person: User, settings: Any, models: tuple[str, ...]
) -> None:
    settings.ADK = {**settings.ADK, "max_tokens_per_user": 1000}
    PersonUsage.objects.create(user=person, day=TODAY(), tokens=900, cost=1.5)
    SessionFigures.objects.update_or_create(session=session, defaults={"cost": 2.0, "tokens": 1000})
    for metric in (DayMetric.FAILURES, DayMetric.CALLS, DayMetric.TOKENS, DayMetric.COST):
        add(metric, 3, "refund", "small")
    html = read(sign_in(client, *models, rights=()), list_url("dayfigure"))
    content = html.split('id="content"')[1]
    links = set(re.findall(r'href="([^"]+)"', content))
    assert not {url for url in links if client.get(html_module.unescape(url)).status_code != 200}
    assert ("/session/?" in content, "/invocation/?" in content) == (
        "session" in models,
        "invocation" in models,
    )
    assert "ada" in content and "have cost most" in content


def test_an_overview_without_figures_is_shown(staff: Client) -> None:
    html = read(staff, list_url("dayfigure"))
    assert tile(html, "Tokens")[0] == "0" and "No tool has failed." in html


def test_the_overview_reads_no_log_and_its_queries_do_not_grow(staff: Client, session: Session) -> None:
    counts = []
    for n in range(3):
        add(DayMetric.FAILURES, 1, f"tool-{n}", age=n)
        append_event(session, {"text": "x"})
        statements = statements_of(staff, list_url("dayfigure"))
        assert not [one for one in statements if "sessions_app_event" in one]
        counts.append(len(statements))
    assert len(set(counts)) == 1 and counts[0] <= 14


def test_the_sessions_that_have_cost_most_lead_to_their_pages(
    staff: Client, person: User, session: Session
) -> None:
    dear = Session.objects.create(app_name="help_desk", user=person, key="dear")
    assert "have cost most" not in read(staff, list_url("dayfigure"))
    for costly, cost in ((session, 0.5), (dear, 2.0)):
        SessionFigures.objects.update_or_create(session=costly, defaults={"cost": cost, "tokens": 1000})
    Session.objects.filter(pk=dear.pk).update(title="A dear lamp")
    html = read(staff, list_url("dayfigure"))
    assert 0 < html.index(page_of(dear)) < html.index(page_of(session))
    assert "A dear lamp" in html
    User.objects.get(username="staff").user_permissions.remove(Permission.objects.get(codename="view_text"))
    html = read(staff, list_url("dayfigure"))
    assert "A dear lamp" not in html and ">dear<" in html
    group = Group.objects.create(name="Travel")
    User.objects.get(username="staff").groups.add(group)
    Remit.objects.create(group=group, app_name="travel")
    assert "have cost most" not in read(staff, list_url("dayfigure"))


def rows_of_costs(client: Client) -> dict[str, list[tuple[str, ...]]]:
    """Return the rows of the tables on the page of costs."""
    html = read(client, reverse("admin:sessions_app_dayfigure_costs"))
    row = re.compile(
        r'<th scope="row"><bdi>(?:<a [^>]*>)?([^<]*).*?">([^<]*)</td>.*?">([^<]*)</td>', re.DOTALL
    )
    parts = re.split(r'<section aria-labelledby="([\w-]+)">', html)[1:]
    return {name: row.findall(part) for name, part in zip(parts[::2], parts[1::2], strict=True)}


def test_apps_and_people_are_listed_by_cost_within_the_remits(
    staff: Client, person: User, session: Session
) -> None:
    bob = User.objects.create_user("bob")
    other = Session.objects.create(app_name="travel", user=bob, key="trip")
    old = Session.objects.create(app_name="help_desk", user=bob, key="old")
    for of, cost in ((session, 1.5), (other, 3.0), (old, 50.0)):
        SessionFigures.objects.update_or_create(session=of, defaults={"cost": cost, "tokens": 1000})
    Session.objects.filter(pk=old.pk).update(updated_at=timezone.now() - timedelta(days=31))
    Session.objects.filter(pk=other.pk).update(deleted_at=timezone.now())
    PersonUsage.objects.create(user=person, day=TODAY(), tokens=900, cost=1.25)
    PersonUsage.objects.create(user=bob, day=TODAY() - timedelta(days=1), tokens=900, cost=9.0)
    for app, cost, age in (
        ("help_desk", 2.0, 0),
        ("help_desk", 4.0, 29),
        ("travel", 3.0, 1),
        ("travel", 9.0, 30),
    ):
        add(DayMetric.COST, cost, age=age, app=app)
        add(DayMetric.TOKENS, 100, age=age, app=app)
    costs = rows_of_costs(staff)
    assert costs == {
        "apps-today": [("help_desk", "100", "2.00")],
        "apps": [("help_desk", "200", "6.00"), ("travel", "100", "3.00")],
        "people-today": [("ada", "900", "1.25")],
        "people": [("bob", "1,000", "3.00"), ("ada", "1,000", "1.50")],
    }
    assert reverse("admin:sessions_app_dayfigure_costs") in read(staff, list_url("dayfigure"))
    group = Group.objects.create(name="Travel")
    User.objects.get(username="staff").groups.add(group)
    Remit.objects.create(group=group, app_name="travel")
    costs = rows_of_costs(staff)
    assert costs["people"] == [("bob", "1,000", "3.00")] and costs["apps"] == [("travel", "100", "3.00")]
    assert costs["people-today"] == costs["apps-today"] == []


def test_a_model_whose_price_is_not_set_is_marked(staff: Client, settings: Any) -> None:
    add(DayMetric.TOKENS, 1000, "clerk", "gemini-3")
    html = read(staff, list_url("dayfigure"))
    assert html.count("no price") == 2 and "without gemini-3: no price" in html
    settings.ADK = {**settings.ADK, "prices": {"gemini": {"input": 1, "output": 2}}}
    assert "no price" not in read(staff, list_url("dayfigure"))


def test_people_near_their_budget_are_listed(staff: Client, person: User, settings: Any) -> None:
    settings.ADK = {**settings.ADK, "max_tokens_per_user": 1000}
    PersonUsage.objects.create(user=person, day=TODAY(), tokens=900, cost=1.5)
    html = read(staff, list_url("dayfigure"))
    assert "Budgets of people today" in html and "user=ada" in html and "90%" in html
    settings.ADK = {**settings.ADK, "max_tokens_per_user": 0}
    assert "Budgets of people today" not in read(staff, list_url("dayfigure"))


def test_people_are_ordered_by_the_larger_share_of_their_budgets(staff: Client, settings: Any) -> None:
    settings.ADK = {**settings.ADK, "max_tokens_per_user": 1000, "max_cost_per_user": 10.0}
    used = {"talker": (990, 0.0), "spender": (0, 9.8), **{f"other{n}": (20, 0.2 + n / 100) for n in range(6)}}
    for name, (tokens, cost) in used.items():
        user = User.objects.create_user(name)
        PersonUsage.objects.create(user=user, day=TODAY(), tokens=tokens, cost=cost)
    html = read(staff, list_url("dayfigure"))
    shares = re.findall(r"user=(\w+).*?(\d+)%", html.split("Budgets of people today")[1], re.DOTALL)
    assert shares[:3] == [("talker", "99"), ("spender", "98"), ("other5", "2")]


def test_the_overview_has_the_apps_of_the_remit_only(staff: Client, person: User) -> None:
    group = Group.objects.create(name="Shop")
    User.objects.get(username="staff").groups.add(group)
    Remit.objects.create(group=group, app_name="shop")
    add(DayMetric.TOKENS, 7, "clerk", app="shop")
    add(DayMetric.TOKENS, 1000, "pilot", app="travel")
    add(DayMetric.PEOPLE, 5, app="")
    html = read(staff, list_url("dayfigure"))
    assert tile(html, "Tokens")[0] == "7" and "pilot" not in html
    assert "Active people" not in html and "<th>People</th>" not in html
    assert ">5</td>" not in html


def test_sums_over_all_people_are_not_shown_to_staff_whose_remits_have_some_people(staff: Client) -> None:
    group, customers = Group.objects.create(name="Shop"), Group.objects.create(name="Customers")
    User.objects.get(username="staff").groups.add(group)
    Remit.objects.create(group=group, app_name="shop", people=customers)
    add(DayMetric.TOKENS, 7777, "clerk", app="shop")
    add(DayMetric.TOKENS, 333, "pilot", app="travel")
    add(DayMetric.FAILURES, 5, "refund", app="shop")
    figure = reverse("admin:sessions_app_dayfigure_change", args=[DayFigure.objects.earliest("pk").pk])
    html = read(staff, list_url("dayfigure"))
    assert not any(word in html for word in ("7,777", "333", "clerk", "pilot", "refund", "Tokens and cost"))
    assert "your remits have some people only" in html
    assert staff.get(figure).status_code == 404
    Remit.objects.create(group=group, app_name="travel")
    html = read(staff, list_url("dayfigure"))
    assert tile(html, "Tokens")[0] == "333" and "clerk" not in html
    assert staff.get(figure).status_code == 404


def test_filters_name_no_agents_and_tools_of_people_outside_of_the_remits(staff: Client) -> None:
    group, customers = Group.objects.create(name="Shop"), Group.objects.create(name="Customers")
    User.objects.get(username="staff").groups.add(group)
    Remit.objects.create(group=group, app_name="shop", people=customers)
    for app, name in (("shop", "clerk"), ("travel", "pilot")):
        add(DayMetric.TOKENS, 1, name, app=app)
        add(DayMetric.CALLS, 1, f"{name}_tool", app=app)
        add(DayMetric.FAILURES, 1, f"{name}_tool", app=app)
    for name in ("session", "failure"):
        assert not re.search("clerk|pilot", read(staff, list_url(name)))
    Remit.objects.create(group=group, app_name="travel")
    for name in ("session", "failure"):
        html = read(staff, list_url(name))
        assert "pilot_tool" in html and "clerk" not in html


def test_names_of_agents_and_tools_are_inert_in_tables_and_plots(staff: Client) -> None:
    add(DayMetric.TOKENS, 7, HOSTILE, HOSTILE)
    add(DayMetric.FAILURES, 7, HOSTILE + "\u202e")
    html = read(staff, list_url("dayfigure"))
    assert "<script>alert" not in html and "<img src=x" not in html and "\u202e" not in html
    assert html.count("&lt;script&gt;alert") >= 3


def test_a_plot_has_no_styles_scripts_or_ids_that_the_policy_or_another_plot_forbids() -> None:
    svg = stacked_bars("Calls & more", ["1 Nov", "2 Nov"], {"<b>": [1, 2], "none": [0, 0], "gap": [0.0, 1.5]})
    assert not re.search(r"<style|<script|style=|\sid=|xlink|http://(?!www.w3.org/2000/svg)", svg), svg
    assert 'aria-label="Calls &amp; more"' in svg and "&lt;b&gt;" in svg
    assert "<svg" in stacked_bars("Empty", ["1 Nov"], {})


def fail(session: Session, cause: str, tool: str = "refund", *, age: int = 0, seq: int = 1) -> None:
    day = TODAY() - timedelta(days=age)
    Failure.objects.create(session=session, seq=seq, day=day, tool_name=tool, cause=cause)


def test_errors_are_grouped_by_tool_and_cause_with_counts_over_time(staff: Client, session: Session) -> None:
    for age in (0, 0, 3, 20, 40):
        fail(session, "Order # is closed.", age=age)
    fail(session, "RESOURCE_EXHAUSTED: # requests", tool="")
    page = read(staff, list_url("failure"))
    groups = page.split('aria-labelledby="groups"')[1].split("</table>")[0]
    rows = [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", row)).split(" ") for row in groups.split("<tr>")[2:]]
    assert [row[-4:-1] for row in rows] == [["2", "3", "4"], ["1", "1", "1"]]
    first = date_format(TODAY() - timedelta(days=40), "j M Y")
    assert f"{first} {date_format(TODAY(), 'j M Y')} open 2 3 4" in " ".join(rows[0])
    assert "<svg" in page
    links = re.findall(r'href="(/admin/sessions_app/failure/\?[^"]*)">(?:<bdi>)?([^<]+)', groups)
    all_rows = {"Order # is closed.": 5, "RESOURCE_EXHAUSTED: # requests": 1}
    assert len(links) == 8
    for url, words in links:
        found = read(staff, html_module.unescape(url)).split('id="result_list"')[1].count("<tr>") - 1
        assert found == (int(words) if words.isdecimal() else all_rows[words]), url
    assert page_of(session, "?event=1") in page


def test_a_cause_is_assigned_resolved_and_open_again_when_it_fails_later(
    staff: Client, session: Session
) -> None:
    fail(session, "Order # is closed.", age=1)
    url = list_url("failure", "cause/?tool=refund&cause=Order+%23+is+closed.")
    assert staff.get(url).status_code == 403 and "failure/cause/" not in read(staff, list_url("failure"))
    user = User.objects.get(username="staff")
    user.user_permissions.add(Permission.objects.get(codename="resolve_failure"))
    assert html_module.escape(url) in read(staff, list_url("failure"))
    assert staff.get(list_url("failure", "cause/?tool=refund&cause=other")).status_code == 404
    assert staff.post(url, {"resolved": "on"}).status_code == 200, "a reason is needed"
    assert not FailureCause.objects.exists()
    answer = staff.post(url, {"assignee": user.pk, "resolved": "on", "reason": "Orders are reopened first."})
    assert answer.status_code == 302
    act = StaffAct.objects.get(subject_kind="failure")
    assert (act.action, act.reason, act.actor_name) == ("change", "Orders are reopened first.", "staff")

    def state() -> str:
        cell = read(staff, list_url("failure")).split('<td data-label="State">')[1].split("</td>")[0]
        return " ".join(re.sub("<[^>]+>", "", cell).split())

    today = date_format(TODAY(), "j M Y")
    assert state() == f"resolved {today} · staff"
    FailureCause.objects.update(resolved_on=TODAY() - timedelta(days=1))
    fail(session, "Order # is closed.")
    assert state().startswith("failed again since ")
    assert "checked" not in read(staff, url)
    staff.post(url, {"reason": "Not mine."})
    assert state() == "open"


def test_rejections_stand_apart_from_failures(staff: Client) -> None:
    for age in (0, 0, 3, 20, 40):
        add(DayMetric.REJECTIONS, 1, "refund", age=age, app=f"shop-{DayFigure.objects.count()}")
    rejections = read(staff, list_url("failure")).split('id="rejections"')[1].split("</table>")[0]
    assert re.findall(r"<td [^>]*>(\d+)</td>", rejections) == ["2", "3", "4"]
    assert "refund" in rejections


def test_numbers_of_failed_calls_lead_to_as_many_failures(staff: Client, session: Session) -> None:
    for tool, ages in (("refund", (0, 0, 3, 40)), ("pay", (0, 3)), ("", (0, 3))):
        for age in ages:
            fail(session, "Order # is closed.", tool, age=age)
            add(DayMetric.FAILURES, 1, tool, app=f"shop-{DayFigure.objects.count()}", age=age)
    html = read(staff, list_url("dayfigure"))
    links = re.findall(r'href="([^"]*/failure/[^"]*)">(\d+)</a>', html)
    assert {int(number) for _, number in links} == {0, 1, 2, 3}
    for url, number in links:
        failures = read(staff, html_module.unescape(url))
        assert f"{number} row{'s' * (number != '1')} on this page" in failures, url


def test_causes_need_the_right_to_read_texts(staff: Client, session: Session) -> None:
    fail(session, "Order # is closed.")
    user = User.objects.get(username="staff")
    user.user_permissions.remove(Permission.objects.get(codename="view_text"))
    assert staff.get(list_url("failure")).status_code == 403
    assert staff.get(list_url("failure", "?tool=refund")).status_code == 403


def test_a_hostile_cause_is_inert(staff: Client, session: Session) -> None:
    fail(session, HOSTILE + "\u202e", tool=HOSTILE)
    for query in ("", "?cause=" + "%3Cscript%3Ealert(1)"):
        page = read(staff, list_url("failure", query))
        assert "<script>alert" not in page and "\u202e" not in page
