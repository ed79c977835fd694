"""Contract: a project without the apps of `sessions_app/contrib/` works, and imports nothing of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from adk_site.embedded.paths import CHECKOUT
from tests.integration.management.terminal import site_environment

PROJECT = """
import sys
import adk_site.settings as site
sys.modules["site_without"] = site
site.INSTALLED_APPS = [name for name in site.INSTALLED_APPS if "contrib.a2a" not in name
    and "contrib.ag_ui" not in name and "contrib.evaluation" not in name
    and "contrib.knowledge" not in name and "contrib.mcp" not in name
    and "contrib.slack" not in name and "contrib.terminal" not in name]
site.ADK["a2a_apps"] = sys.argv[1:]

import django
django.setup()
from django.core.management import call_command, get_commands
from django.test import Client
call_command("check")

import sessions_app.tasks
from celery import current_app
from sessions_app.routing import STREAMS
assert not [route for route in STREAMS if route.startswith(("a2a/", "ag-ui/", "mcp", "slack/", ".well-known/"))]
assert not {"adk_chat", "adk_eval", "adk_run"} & get_commands().keys()
assert "sessions_app.evaluate_case" not in current_app.tasks

client = Client(SERVER_NAME="localhost")
assert client.get("/accounts/login/").status_code == 200
from django.contrib.auth.models import User
client.force_login(User.objects.get())
assert client.get("/", follow=True).status_code == 200
assert client.get("/admin/").status_code == 200
assert b"/admin/sessions_app/annotation/" in client.get("/admin/").content
assert b"/admin/sessions_app/evaluation/" not in client.get("/admin/").content
assert client.get("/admin/sessions_app/annotation/?label=good").status_code == 200
assert client.get("/admin/sessions_app/evaluation/").status_code == 404
assert client.get("/adk/list-apps").status_code == 200
assert client.get("/adk/dev/apps/help_desk/eval_sets").status_code == 404
sessions_app.tasks.sweep()
sessions_app.tasks.run_housekeeping()
# The help desk has a tool of `knowledge`, which its author has imported.
imported = {name.split(".")[2] for name in sys.modules if name.startswith("sessions_app.contrib.")}
assert imported <= {"knowledge"}, imported
"""


def run_without(*a2a_apps: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROJECT, *a2a_apps],
        cwd=CHECKOUT,
        env=site_environment(DJANGO_SETTINGS_MODULE="site_without", ADK_DEV="1"),
        capture_output=True,
        text=True,
    )


@pytest.mark.django_db(transaction=True)
def test_a_project_without_the_optional_apps_works(admin_user: object) -> None:
    ended = run_without()
    assert ended.returncode == 0, ended.stderr


def test_served_apps_need_the_app_of_a2a() -> None:
    ended = run_without("help_desk")
    assert ended.returncode != 0
    assert "sessions_app.E018" in ended.stderr
