"""Settings of this app with their defaults; `ADK = {...}` in the site's settings overrides them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from django.conf import settings
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

NO_UNKNOWN_FIELDS = ConfigDict(extra="forbid")
MASKED_KEYS = (
    "*password*", "*passwd*", "*passphrase*", "*secret*", "*credential*", "*authorization*", "*cookie*",
    "*private_key*", "*api_key*", "*access_key*", "*bearer*", "token", "*access_token*", "*refresh_token*",
    "id_token", "*auth_token*", "*session_token*", "*auth_code*", "*auth_response_uri*", "*card_number*", "cvc", "cvv",
)  # fmt: skip
MASKED_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
        r"://([^\s/@:<]{0,200}:[^\s/@<]{1,200})@",  # user and password in a URL
        r"[Bb](?:earer ([\w.~+/=-]+)|asic ([\w+/=]{8,}))",  # Authorization headers
        # The look-behind follows the first letters, so that the search begins with plain letters, which is fast.
        r"(?:AIza|sk-(?<!\wsk-)|sk_live_|rk_live_|gh[pousr]_|github_pat_|glpat-|xox[a-z]-)[\w-]{16,}"
        r"|A[KS]IA[A-Z0-9]{16}|adk_[\w-]{43}|whsec_[\w+/-]{24,}",
        # JSON web tokens. The search stays linear: a text that only begins like a token is passed over immediately.
        r"eyJ(?<!\weyJ)(?:([\w-]++\.[\w-]++\.[\w-]*)|[\w-]*+)",
    )
)
QueuePolicy = Literal["enqueue", "reject", "interrupt"]


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class Price:
    """Price of a model for a million tokens, in the site's currency.

    Attributes:
        cached_input: price of input tokens from the model's cache; None is the price of other input.
    """

    input: float
    output: float
    cached_input: float | None = None


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class RateLimit:
    """Largest numbers of requests to a model and of tokens in a minute; 0 is no limit."""

    requests: int = Field(default=0, ge=0)
    tokens: int = Field(default=0, ge=0)


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class AnswerLimit:
    """Limits of the time for which a call or a question waits for somebody; 0 is no limit.

    Attributes:
        mail_seconds: time after which the members of `mail_group`, a group of users, get a mail.
        reject_seconds: time after which the site says no in the place of everybody, where a no is an answer.
    """

    mail_seconds: float = Field(default=0.0, ge=0)
    mail_group: str = ""
    reject_seconds: float = Field(default=0.0, ge=0)


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class Conf:
    """Settings of a site in `settings.ADK`. Durations are in seconds.

    Attributes:
        apps: overrides by app name, of `queue_policy`, `invocations_of_app`, `retention_days` and the limits of an
            invocation.
        queue_policy: treatment of a message while another is answered: queue it (`enqueue`), refuse it (`reject`), or
            cancel the other invocation (`interrupt`).
        invocations_of_person: number of invocations that a user may have running at once; 0 is no limit.
        invocations_of_app: number of invocations that an app may have running at once; 0 is no limit.
        lease_seconds: duration of a lease; other processes take over an invocation this long after its process died.
        heartbeat_seconds: interval at which a process renews its leases and polls the sessions it watches.
        merge_seconds: shortest time for which streamed text is gathered before it is sent.
        merge_seconds_under_load: longest time for which streamed text is gathered.
        relay_seconds: shortest time between two messages to other processes.
        worker_sessions: number of sessions that a Celery worker process runs at once; others wait.
        invocation_seconds: longest duration of an invocation.
        invocation_model_calls: largest number of model calls of an invocation.
        invocation_tokens: largest number of tokens of an invocation; 0 is no limit.
        invocation_cost: highest cost of an invocation by `prices`; 0 is no limit.
        prices: prices by the beginning of a model's name, {"input": ..., "output": ..., "cached_input": ...}: see
            `Price`.
        model_rate_limits: limits by the beginning of a model's name, {"requests": ..., "tokens": ...}: see `RateLimit`.
            All processes and all models of that beginning share a limit.
        model_wait_seconds: longest time that a model call waits for its turn under such a limit.
        invocation_attempts: largest number of claims of an invocation; it fails when the process of the last one dies.
        job_result_limit: largest job result in characters; a larger one becomes an artifact.
        job_lost_seconds: time without a heartbeat after which the worker of a running job counts as dead.
        cancel_grace_seconds: time that the function of a running job has to end after its cancellation; then its
            process is killed.
        job_resend_seconds: time after which a sent job that has not started is sent to the broker again; the pause
            doubles with each send.
        sweep_seconds: time after which a sweep leaves the rest of its work to the next one.
        schedule_shortest_seconds: shortest interval of a scheduled task.
        schedule_longest_seconds: longest interval of a scheduled task, and longest time from now to the start of a
            task or a job.
        schedules_per_session: largest number of active scheduled tasks in a session.
        title_model: name of a model that gives each chat its title after the first answer; empty keeps the title that
            the first message gave.
        site_name: name of the site on its pages and on the sign-in page.
        site_logo: path of a picture among the static files, shown beside the name; empty for none.
        deletion_undo_seconds: time for which a person can undo the deletion of a session; a sweep then erases it.
        retention_days: days without use after which a session is erased; 0 keeps sessions.
        retention_batch: largest number of sessions that one run of the daily housekeeping erases.
        pool_size: PostgreSQL connections of a process.
        database_threads: threads for queries of the ORM outside of HTTP requests; each has a connection while it works.
        page_connections: PostgreSQL connections of a web process for pages, the admin and its database threads.
        page_wait_seconds: longest wait of a page for one of these connections.
        statement_seconds: longest duration of a statement in a web process; 0 is no limit.
        audit_statement_seconds: longest duration of a statement of a page of the admin; 0 is no limit.
        tool_threads: number of synchronous tools that a process runs at once; others wait.
        download_threads: number of downloads for which a process reads a piece of a file at once.
        limit_threads: number of calls of Redis that a process makes at once to count open sockets.
        broker_threads: number of tasks that a process sends to the broker at once.
        prepared_statements: keep prepared statements on these connections; turn off behind a connection pooler that
            switches connections without tracking prepared statements.
        show_details: True shows in all chats what staff have in theirs: names of tools, results as JSON,
            milliseconds and state. Only the looks change: a person's websocket gets whole events in any case,
            without the state of the app.
        share_links: True lets people share their chats: everybody who is signed in and has the link of a chat reads
            the whole chat. See docs/security.md.
        cached_html_bytes: size of the HTML of events that a process caches.
        markdown_limit: characters of a text that are rendered as Markdown; the rest is shown as it is.
        markdown_cells: table cells of a text that are rendered as tables; the rest is shown as it is.
        markdown_lines: lines of a text that are rendered as Markdown; the rest is shown as it is.
        markdown_marks: number of characters that may begin a link, emphasis or the like in a text; paragraphs after
            that number are shown without markup.
        markdown_nesting: depth of lists and quotations in a text; deeper ones are shown as they are.
        inline_render_seconds: estimated time above which an event is rendered in a thread, so that the event loop
            goes on meanwhile.
        cached_bytes: memory for the events of recently used sessions that a process caches, estimated.
        streamed_bytes: memory for streamed text in a process; above it the longest text is shown only when complete.
        message_limit: largest message in characters.
        upload_bytes: size of the largest file that a person may upload.
        upload_files: largest number of files of a message.
        upload_types: MIME types of files that people may upload, such as `image/*`; empty allows all.
        frame_limit: largest websocket frame in characters.
        sockets_per_person: number of sockets and event streams that a person may have open at once; 0 is no limit, as
            for all limits of a person or a client address.
        sockets_per_address: number of sockets that a client address may have open at once.
        frames_per_person: number of frames that a person may send in a minute, from all sockets.
        frames_per_address: number of frames that a client address may send in a minute.
        new_sessions_per_person: number of sessions that a person may create in an hour.
        new_sessions_per_address: number of sessions that a client address may create in an hour.
        queued_messages_per_person: number of messages of a person that may wait for their turn.
        tokens_per_person: number of tokens that a person may use in a day of the site's time zone.
        cost_per_person: cost by `prices` that a person may cause in a day; without prices nothing has a cost.
        artifact_bytes_per_person: size of all artifacts of a person, older versions included.
        sign_in_failures: number of wrong passwords for one name from one client address after which sign-ins wait.
        sign_ins_per_address: number of sign-ins that a client address may try in an hour, for all names together.
        sign_in_lock_seconds: time for which sign-ins wait.
        trusted_proxies: number of reverse proxies in front of the site that append the address of their client to
            `X-Forwarded-For`; with 0 the header is ignored.
        metrics_token: token with which Prometheus reads `metrics`, as `Authorization: Bearer ...`; without one only
            staff read them.
        otlp_endpoint: URL to which OpenTelemetry sends the spans of invocations, such as
            `http://localhost:4318/v1/traces`; empty sends none.
        slow_reader_seconds: time that a browser with a full send queue has to read it before it is disconnected.
        error_detail_limit: largest text of an error that is kept for staff, in characters; 0 keeps none.
        masked_keys: names of secrets. A value under such a key is masked for staff, in exports and in logs. `*` stands
            for any characters; case, `_` and `-` do not count.
        masked_patterns: regular expressions of texts that are masked, besides numbers of payment cards. Of a
            pattern with groups, only the groups are masked.
        unmask_seconds: time for which staff with the permission see the masked values of a session that they unmask.
        access_log_days: days for which the records of what staff read are kept; 0 keeps them.
        credential_keys: texts from which the keys that encrypt credentials are derived; the first one encrypts, all
            decrypt. Empty means `SECRET_KEY` and `SECRET_KEY_FALLBACKS`.
        credential_seconds: longest time for which a credential is kept for an invocation that has not ended.
        saved_credential_days: days after which a credential that a tool has saved for later invocations is deleted.
        agent_dirs: directories of agent folders: each folder is an app, see docs/authoring.md. A relative one begins at
            the working directory.
        reload_agents: import changed agents again while the site runs; for development.
        replace_google_adk: let `google.adk` name this runtime in agent folders although google-adk is installed.
        answer_limits: time limits by the name of the tool that waits for an answer; "" is for all other tools.
        dev_ui: True serves adk-web, the page of google-adk for developers, to staff under `dev-ui/`: see
            docs/adk-server.md.
        dev_ui_directory: directory with the files of adk-web; empty means those of the installed package google-adk.
        mcp_servers: the MCP servers that agents may reach: commands with their first arguments, and URLs with all
            below them; None allows all.
        webhooks_to_localhost: let webhooks reach this machine, also by plain HTTP; for development.
        a2a_apps: names of the apps that are served by A2A, see docs/a2a.md.
    """

    apps: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    queue_policy: QueuePolicy = "enqueue"
    invocations_of_person: int = 0
    invocations_of_app: int = 0
    lease_seconds: float = 30.0
    heartbeat_seconds: float = 5.0
    merge_seconds: float = 0.02
    merge_seconds_under_load: float = 0.1
    relay_seconds: float = 0.05
    worker_sessions: int = 50
    invocation_seconds: float = 600.0
    invocation_model_calls: int = 100
    invocation_tokens: int = 0
    invocation_cost: float = 0.0
    prices: Mapping[str, Price] = field(default_factory=dict)
    model_rate_limits: Mapping[str, RateLimit] = field(default_factory=dict)
    model_wait_seconds: float = Field(default=120.0, gt=0)
    invocation_attempts: int = 5
    job_result_limit: int = 64_000
    job_lost_seconds: float = 20.0
    cancel_grace_seconds: float = 10.0
    job_resend_seconds: float = 60.0
    sweep_seconds: float = 4.0
    schedule_shortest_seconds: float = 60.0
    schedule_longest_seconds: float = 3650 * 86_400.0
    schedules_per_session: int = 20
    title_model: str = ""
    site_name: str = "Agents"
    site_logo: str = ""
    deletion_undo_seconds: float = Field(default=60.0, ge=0)
    retention_days: int = Field(default=0, ge=0)
    retention_batch: int = Field(default=10_000, ge=1)
    pool_size: int = 20
    database_threads: int = 4
    page_connections: int = 10
    page_wait_seconds: float = 10.0
    statement_seconds: float = 30.0
    audit_statement_seconds: float = 10.0
    tool_threads: int = 32
    download_threads: int = 8
    limit_threads: int = 4
    broker_threads: int = 2
    prepared_statements: bool = True
    show_details: bool = False
    share_links: bool = False
    cached_html_bytes: int = 32_000_000
    markdown_limit: int = 100_000
    markdown_cells: int = 2_000
    markdown_lines: int = 2_000
    markdown_marks: int = 4_000
    markdown_nesting: int = 16
    inline_render_seconds: float = 0.03
    cached_bytes: int = 256_000_000
    streamed_bytes: int = 64_000_000
    message_limit: int = 32_000
    upload_bytes: int = Field(default=10 * 1024**2, ge=1)
    upload_files: int = Field(default=10, ge=1)
    upload_types: tuple[str, ...] = ()
    frame_limit: int = 256_000
    sockets_per_person: int = Field(default=50, ge=0)
    sockets_per_address: int = Field(default=1_000, ge=0)
    frames_per_person: int = Field(default=600, ge=0)
    frames_per_address: int = Field(default=12_000, ge=0)
    new_sessions_per_person: int = Field(default=100, ge=0)
    new_sessions_per_address: int = Field(default=1_000, ge=0)
    queued_messages_per_person: int = Field(default=50, ge=0)
    tokens_per_person: int = Field(default=5_000_000, ge=0)
    cost_per_person: float = Field(default=0.0, ge=0)
    artifact_bytes_per_person: int = Field(default=1_000_000_000, ge=0)
    sign_in_failures: int = Field(default=10, ge=0)
    sign_ins_per_address: int = Field(default=300, ge=0)
    sign_in_lock_seconds: float = Field(default=900.0, gt=0)
    trusted_proxies: int = Field(default=0, ge=0)
    metrics_token: str = field(default="", repr=False)
    otlp_endpoint: str = ""
    slow_reader_seconds: float = 20.0
    error_detail_limit: int = 8_000
    masked_keys: tuple[str, ...] = MASKED_KEYS
    masked_patterns: tuple[re.Pattern[str], ...] = MASKED_PATTERNS
    unmask_seconds: float = Field(default=900.0, gt=0)
    access_log_days: int = Field(default=365, ge=0)
    credential_keys: tuple[str, ...] = field(default=(), repr=False)
    credential_seconds: float = 3600.0
    saved_credential_days: int = Field(default=90, ge=1)
    agent_dirs: tuple[Path, ...] = ()
    reload_agents: bool = False
    replace_google_adk: bool = False
    answer_limits: Mapping[str, AnswerLimit] = field(default_factory=dict)
    dev_ui: bool = False
    dev_ui_directory: str = ""
    mcp_servers: tuple[str, ...] | None = None
    webhooks_to_localhost: bool = False
    a2a_apps: tuple[str, ...] = ()

    def of_app(self, app_name: str) -> Conf:
        """Return the settings with the app's overrides."""
        return replace(self, **self.apps.get(app_name, {}))

    def by_app(self, setting: str) -> dict[str, Any]:
        """Return one setting by app name: the apps' overrides, and under "" the value of all other apps."""
        overrides = {name: values[setting] for name, values in self.apps.items() if setting in values}
        return {**overrides, "": getattr(self, setting)}

    def price(self, model: str) -> Price | None:
        """Return the price of a model, by the longest key of `prices` that its name begins with."""
        prefix = _longest_prefix(self.prices, model)
        return None if prefix is None else self.prices[prefix]

    def model_rate_limit(self, model: str) -> tuple[str, RateLimit] | None:
        """Return a model's limit and its key, the longest in `model_rate_limits` that the name begins with."""
        prefix = _longest_prefix(self.model_rate_limits, model)
        return None if prefix is None else (prefix, self.model_rate_limits[prefix])


def _longest_prefix(keys: Iterable[str], name: str) -> str | None:
    return max((key for key in keys if name.startswith(key)), key=len, default=None)


@lru_cache(maxsize=1)
def conf() -> Conf:
    """Return the settings of the site.

    Cached; `apps.py` clears the cache when a test overrides `settings.ADK`.

    Raises:
        pydantic.ValidationError: `settings.ADK` has an unknown key or a value of the wrong type.
    """
    return Conf(**getattr(settings, "ADK", {}))
