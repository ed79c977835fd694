"""Contract: what the files of `deploy/` name is there, and they agree with each other and the site.

Nothing is built or started here; tests/stack/test_scale_out.py runs what `deploy/run` runs.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from adk_site import health
from adk_site.demo import API_KEYS
from adk_site.embedded.paths import CHECKOUT
from sessions_app.celery_dispatch import JOB_QUEUE
from sessions_app.routing import websocket_urlpatterns

DEPLOY = CHECKOUT / "deploy"
IMAGE = "adk-site"
SITE = ("web", "worker", "jobs", "beat", "migrate")
VARIABLE = re.compile(r"\$\{(\w+)(:[?-])?")

Service = dict[str, Any]


@cache
def text(name: str) -> str:
    return (DEPLOY / name).read_text()


@cache
def services() -> dict[str, Service]:
    found: dict[str, Service] = yaml.safe_load(text("compose.yaml"))["services"]
    return found


def processes() -> dict[str, str]:
    """What `deploy/run` knows: the command line by the word."""
    return dict(re.findall(r"^    (\w+)\) exec (.+) ;;$", text("run"), re.MULTILINE))


def instructions(kind: str) -> list[str]:
    """The arguments of the Dockerfile's lines of a kind."""
    return re.findall(rf"^{kind} (.+)$", text("Dockerfile"), re.MULTILINE)


def names_that_settings_read() -> set[str]:
    """The first arguments of `env.str("NAME")` and the like."""
    tree = ast.parse((CHECKOUT / "adk_site" / "settings.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    asked = [call.args[0] for call in calls if ast.unparse(call.func).startswith("env.")]
    return {str(name.value) for name in asked if isinstance(name, ast.Constant)}


def location_of(path: str) -> str:
    """The block of nginx.conf that a path goes to: that of the longest prefix."""
    blocks = re.findall(
        r"^        location (/\S*) \{\n(.*?)^        \}", text("nginx.conf"), re.MULTILINE | re.DOTALL
    )
    return str(max((prefix, block) for prefix, block in blocks if path.startswith(prefix))[1])


def test_compose_runs_each_process_that_the_entry_point_knows() -> None:
    commands = {name: one["command"] for name, one in services().items() if one["image"] == IMAGE}
    assert commands == {name: name for name in SITE}
    assert set(processes()) == set(SITE)
    assert [json.loads(command) for command in instructions("CMD")] == [["web"]]


def test_the_entry_point_is_what_the_image_starts() -> None:
    assert [json.loads(entry) for entry in instructions("ENTRYPOINT")] == [["./deploy/run"]]
    assert os.access(DEPLOY / "run", os.X_OK)


def test_jobs_and_sessions_have_a_worker_for_their_queues() -> None:
    queues = {name: re.findall(r"--queues=(\w+)", line) for name, line in processes().items()}
    assert {name: found for name, found in queues.items() if found} == {
        "worker": ["celery"],
        "jobs": [JOB_QUEUE],
    }


def test_every_variable_of_the_site_is_read_by_its_settings() -> None:
    read = {*names_that_settings_read(), *API_KEYS}
    for name in SITE:
        assert set(services()[name]["environment"]) <= read, name
    of_the_image = [shlex.split(line) for line in instructions("ENV")]
    given = {word.partition("=")[0] for words in of_the_image for word in words}
    assert {name for name in given if not name.startswith(("PYTHON", "PIP_"))} <= read


def test_the_example_names_what_compose_asks_for() -> None:
    asked = VARIABLE.findall(text("compose.yaml"))
    required = {name for name, how in asked if how == ":?"}
    example = set(re.findall(r"^(\w+)=", text(".env.example"), re.MULTILINE))
    assert required <= example <= {name for name, _ in asked}


def test_what_the_image_copies_is_there_and_not_ignored() -> None:
    sources = [source for line in instructions("COPY") for source in line.split()[:-1]]
    assert sources
    let_in = {line[1:] for line in text("Dockerfile.dockerignore").splitlines() if line.startswith("!")}
    assert set(sources) == let_in
    assert [source for source in sources if not (CHECKOUT / source).exists()] == []


def test_the_health_of_a_web_process_is_asked_where_it_is_told() -> None:
    (url,) = re.findall(r"http://[^']+", " ".join(services()["web"]["healthcheck"]["test"]))
    (port,) = re.findall(r"\$\{PORT:-(\d+)\}", processes()["web"])
    assert urlsplit(url).path == health.PATH
    assert str(urlsplit(url).port) == port == instructions("EXPOSE")[0]
    assert re.findall(r"server (\w+):(\d+)", text("nginx.conf")) == [("web", port)]


@pytest.mark.parametrize("name", ["worker", "jobs"])
def test_the_health_of_a_worker_is_asked_by_its_name(name: str) -> None:
    assert f"--destination {name}@$$HOSTNAME" in " ".join(services()[name]["healthcheck"]["test"])
    assert f'--hostname="{name}@%h"' in processes()[name]


def test_the_proxy_passes_websockets_on() -> None:
    (route,) = [str(pattern.pattern) for pattern in websocket_urlpatterns]
    block = location_of(f"/{route}")
    assert block != location_of("/")
    assert "proxy_pass http://web;" in block and "proxy_buffering off;" in block
    assert "proxy_set_header" not in block, (
        "headers of its own would replace all that are set for every location"
    )
    assert "proxy_set_header Upgrade $http_upgrade;" in text("nginx.conf")
    assert "proxy_set_header Connection $connection_header;" in text("nginx.conf")
    assert "proxy_http_version 1.1;" in text("nginx.conf")


def test_the_proxy_reads_what_compose_mounts() -> None:
    mounted = [volume.split(":") for volume in services()["proxy"]["volumes"]]
    places = {source: target for source, target, _ in mounted}
    assert places["./nginx.conf"] == "/etc/nginx/nginx.conf"
    for kind in ("ssl_certificate", "ssl_certificate_key"):
        (file,) = re.findall(rf"{kind} (\S+);", text("nginx.conf"))
        assert file.startswith(places["./tls"])
        assert f"deploy/tls/{file.rpartition('/')[2]}" in text(".env.example")
