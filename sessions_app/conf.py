"""Settings of this app with their defaults. `ADK = {...}` in the site's settings overrides them.

The settings are dataclasses by subject, all combined in `Conf`, so a setting has one flat name. pydantic checks names
and types; `manage.py check` reports what is wrong. Use `conf()`, or `conf().of_app(name)` where apps may differ.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from django.conf import settings
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from runtime.auth.auth_credential import OAuth2Auth
from sessions_app.model_prices import Price, list_price

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
        # User and password in a URL. Advice names them so.
        r"://(?!user:password@)([^\s/@:<]{0,200}:[^\s/@<]{1,200})@",
        # Authorization headers; "bearer token" and "basic information" are prose. Base64 mixes cases and digits.
        r"[Bb](?:earer (?!tokens?\b(?!\.?[\w~+/=-]))([\w.~+/=-]+)|asic (?=\w[a-z]*+[A-Z0-9+/=])([\w+/=]{8,}))",
        # The look-behind follows the first letters, so the search begins with plain letters, which is fast.
        r"(?:AIza|sk-(?<!\wsk-)|sk_live_|rk_live_|gh[pousr]_|github_pat_|glpat-|xox[a-z]-)[\w-]{16,}"
        r"|A[KS]IA[A-Z0-9]{16}|adk_[\w-]{43}|whsec_[\w+/-]{24,}",
        # JSON web tokens. The search stays linear: a text that only begins like a token is passed over immediately.
        r"eyJ(?<!\weyJ)(?:([\w-]++\.[\w-]++\.[\w-]*)|[\w-]*+)",
    )
)
RENAMED = {
    "invocations_of_person": "max_invocations_per_user",
    "invocations_of_app": "max_invocations_per_app",
    "schedules_per_session": "max_schedules_per_session",
    "sockets_per_person": "max_sockets_per_user",
    "sockets_per_address": "max_sockets_per_address",
    "frames_per_person": "max_frames_per_user",
    "frames_per_address": "max_frames_per_address",
    "new_sessions_per_person": "max_new_sessions_per_user",
    "new_sessions_per_address": "max_new_sessions_per_address",
    "queued_messages_per_person": "max_queued_messages_per_user",
    "tokens_per_person": "max_tokens_per_user",
    "cost_per_person": "max_cost_per_user",
    "artifact_bytes_per_person": "max_artifact_bytes_per_user",
    "sign_ins_per_address": "max_sign_ins_per_address",
}
"""Earlier names of settings, accepted until the next release; `check_settings` warns about each."""
EVERYONE = "everyone"
PERMISSION = "permission"
HIDDEN = "hidden"
HourOfDay = Annotated[int, Field(ge=0, le=24)]
QueuePolicy = Literal["enqueue", "reject", "interrupt"]


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class RateLimit:
    """Largest numbers of requests to a model and of tokens in a minute; 0 is no limit."""

    requests: int = Field(default=0, ge=0)
    tokens: int = Field(default=0, ge=0)


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class AnswerLimit:
    """Time limits for answers to a call or a question; 0 is no limit."""

    mail_seconds: float = Field(default=0.0, ge=0)
    """Seconds after which the members of `mail_group`, a group of users, get a mail."""
    mail_group: str = ""
    reject_seconds: float = Field(default=0.0, ge=0)
    """Seconds after which an unanswered confirmation is rejected."""


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class InvocationConf:
    """Queueing, running and taking over of invocations."""

    queue_policy: QueuePolicy = "enqueue"
    """Policy for a message that comes while another is answered: queue it (`enqueue`), refuse it (`reject`), or
    cancel the running invocation (`interrupt`)."""
    max_invocations_per_user: int = 0
    """Maximum invocations running at the same time for a user; 0 is no limit."""
    max_invocations_per_app: int = 0
    """Maximum invocations running at the same time for an app; 0 is no limit."""
    worker_sessions: int = 50
    """Sessions run by a Celery worker process at the same time; others wait."""
    lease_seconds: float = 30.0
    """Duration of a lease. Another process takes over an invocation this long after its process died."""
    heartbeat_seconds: float = 5.0
    """Interval at which a process renews its leases, polls the sessions and checks the sign-ins that it watches, and
    joins the other processes in Redis again. Also the longest wait for Redis to take news for other processes, and the
    pause before the next attempt."""
    invocation_attempts: int = 5
    """Claims of an invocation. When the process of the last claim dies, the invocation fails."""
    invocation_seconds: float = 600.0
    """Longest duration of an invocation."""
    invocation_model_calls: int = 100
    """Model calls of an invocation."""
    invocation_tokens: int = 0
    """Tokens of an invocation; 0 is no limit."""
    invocation_cost: float = 0.0
    """Cost of an invocation by `prices`; 0 is no limit."""
    tool_threads: int = 32
    """Synchronous tools run by a process at the same time; others wait."""
    answer_limits: Mapping[str, AnswerLimit] = field(default_factory=dict)
    """Time limits for answers, by name of the tool; "" is for all other tools."""


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class ModelConf:
    """Prices and rate limits of models, by prefix of the model's name; the longest prefix counts."""

    prices: Mapping[str, Price] = field(default_factory=dict)
    """Prices of models, `{"input": ..., "output": ..., "cached_input": ...}`. Well-known models without an entry have
    their list price in US dollars: see `sessions_app.model_prices`."""
    model_rate_limits: Mapping[str, RateLimit] = field(default_factory=dict)
    """Rate limits, `{"requests": ..., "tokens": ...}`, shared by all processes and all models with that prefix."""
    model_wait_seconds: float = Field(default=120.0, gt=0)
    """Maximum seconds that a model call waits under a rate limit."""
    chat_models: Mapping[str, str] = field(default_factory=dict)
    """Models that people may choose in a chat in place of those of its agents: labels by the names of models."""
    embeddings: Mapping[str, Annotated[int, Field(ge=1, le=4_000)]] = field(default_factory=dict)
    """Models whose vectors let the search of memory find texts of a like meaning: numbers of a vector by the name of a
    model. `migrate` prepares the first; until it has made all vectors, another one in this setting serves searches."""
    title_model: str | None = ""
    """Model for titles of chats, called once after the first answer; empty for the model of the app's root agent, None
    to keep the title made from the first message."""


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class JobConf:
    """Jobs, scheduled tasks, and the sweep, which repairs what crashes leave behind."""

    job_result_limit: int = 64_000
    """Maximum characters of a job result; a longer result becomes an artifact."""
    job_lost_seconds: float = 20.0
    """Seconds without a heartbeat after which the worker of a running job is considered dead."""
    job_resend_seconds: float = 60.0
    """Seconds after which a job is sent to the broker again if it has not started; doubles with each send."""
    cancel_grace_seconds: float = 3.0
    """Seconds for the function of a cancelled job to end before its process is killed."""
    sweep_seconds: float = 4.0
    """Seconds after which a sweep leaves the rest of its work to the next sweep."""
    schedule_shortest_seconds: float = 60.0
    """Shortest interval of a scheduled task."""
    schedule_longest_seconds: float = 3650 * 86_400.0
    """Longest interval of a scheduled task, and longest delay of a task or a job."""
    max_schedules_per_session: int = 20
    """Active scheduled tasks of a session."""


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class SessionConf:
    """Retention of sessions."""

    deletion_undo_seconds: float = Field(default=60.0, ge=0)
    """Seconds in which a user can undo the deletion of a session; then a sweep erases it."""
    retention_days: int = Field(default=0, ge=0)
    """Days without use after which a session is erased; 0 keeps sessions."""
    pack_days: int = Field(default=0, ge=0)
    """Days without use after which the events of a session move to a file; 0 keeps them in the tables."""
    retention_batch: int = Field(default=10_000, ge=1)
    """Maximum sessions erased, and maximum sessions packed, by a run of the daily housekeeping."""


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class MemoryConf:
    """Facts about users, which are remembered of ended conversations (docs/memory-and-artifacts.md)."""

    remember_facts: bool = False
    """Ask the app's model for facts about the user after a conversation has ended."""
    remember_after_seconds: float = Field(default=900.0, ge=0)
    """Seconds without an event after which a conversation counts as ended."""
    remember_special_categories: bool = False
    """Keep facts on health, religion, politics, origin, trade unions, sexuality, genes and biometrics, too."""
    max_facts_per_user: int = Field(default=200, ge=1)
    """Maximum facts about a user in an app; the oldest give way."""


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class PageConf:
    """Contents of pages, and limits on messages and uploads."""

    site_name: str = "Agents"
    """Name of the site on its pages, on the sign-in page and in the admin of this project."""
    site_description: str | None = None
    """Sentence that says on the sign-in page and the first page what this site is; None for a general one, empty for
    none. A project's catalogues may translate the sentence."""
    site_address: str = Field(default="", pattern=r"^(https?://[^/\s]+)?$")
    """Address of the site in mails, such as `https://chat.example.org`; empty: their links are paths only."""
    site_logo: str = ""
    """Path of a picture among the static files, shown next to the name; empty for none."""
    show_details: bool = False
    """Show all users what staff see in their own chats: names of tools, results as JSON, milliseconds and state.

    Only the looks change: a user's websocket receives whole events in any case, without the state of the app."""
    share_links: bool = False
    """Let users share their chats: everybody who is signed in and has a chat's link reads the whole chat
    (docs/security.md)."""
    voice: bool = True
    """Offer dictation and reading aloud in browsers that can do it. A browser may send the voice to its maker's speech
    service (docs/security.md)."""
    custom_instructions_limit: int = Field(default=4_000, ge=0)
    """Maximum characters of a user's own instructions to the agents of an app (docs/state.md); 0 gives agents none."""
    message_limit: int = 32_000
    """Maximum characters of a message."""
    upload_bytes: int = Field(default=10 * 1024**2, ge=1)
    """Maximum bytes of an uploaded file."""
    upload_files: int = Field(default=10, ge=1)
    """Maximum files of a message."""
    upload_types: tuple[str, ...] = ()
    """Allowed MIME types of uploads, such as `image/*`; empty allows all."""
    markdown_limit: int = 100_000
    """Maximum characters of a text to render as Markdown; the rest is shown as plain text."""
    markdown_cells: int = 2_000
    """Maximum cells of all tables of a text; the rest is shown as plain text."""
    markdown_lines: int = 2_000
    """Maximum lines of a text to render as Markdown; the rest is shown as plain text."""
    markdown_marks: int = 4_000
    """Maximum characters of a text that may begin a link, emphasis or the like; later paragraphs have no markup."""
    markdown_nesting: int = 16
    """Maximum depth of lists and quotations; deeper text is shown as plain text."""
    dev_ui: bool = False
    """Serve adk-web, google-adk's page for developers, to staff under `dev-ui/` (docs/adk-server.md)."""
    dev_ui_directory: str = ""
    """Directory with the files of adk-web; empty uses those of the installed package google-adk."""


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class StreamConf:
    """Streaming to browsers and programs."""

    merge_seconds: float = 0.02
    """Minimum time to gather streamed text before sending it."""
    merge_seconds_under_load: float = 0.1
    """Maximum time to gather streamed text."""
    relay_seconds: float = 0.05
    """Shortest time between two messages to other processes."""
    slow_reader_seconds: float = 20.0
    """Seconds after which a client with a full send queue is disconnected."""
    frame_limit: int = 256_000
    """Maximum characters of a frame from a browser."""


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class QuotaConf:
    """Quotas of users and client addresses; 0 is no limit."""

    max_sockets_per_user: int = Field(default=50, ge=0)
    """Maximum open sockets and event streams of a user."""
    max_sockets_per_address: int = Field(default=1_000, ge=0)
    """Maximum open sockets and event streams of a client address."""
    max_frames_per_user: int = Field(default=600, ge=0)
    """Maximum frames in a minute, from all sockets of a user."""
    max_frames_per_address: int = Field(default=12_000, ge=0)
    """Maximum frames in a minute from a client address."""
    max_new_sessions_per_user: int = Field(default=100, ge=0)
    """Maximum sessions created by a user in an hour."""
    max_new_sessions_per_address: int = Field(default=1_000, ge=0)
    """Maximum sessions created from a client address in an hour."""
    max_queued_messages_per_user: int = Field(default=50, ge=0)
    """Maximum queued messages of a user."""
    max_tokens_per_user: int = Field(default=5_000_000, ge=0)
    """Maximum tokens used by a user in a day of the site's time zone."""
    max_cost_per_user: float = Field(default=0.0, ge=0)
    """Maximum cost by `prices` of a user in a day. Models without a price cost nothing."""
    max_artifact_bytes_per_user: int = Field(default=1_000_000_000, ge=0)
    """Maximum bytes of all artifacts of a user, including older versions."""
    sign_in_failures: int = Field(default=10, ge=0)
    """Wrong passwords for a name from a client address after which sign-ins are refused for a while."""
    sign_in_lock_seconds: float = Field(default=900.0, gt=0)
    """Seconds for which sign-ins are refused."""
    max_sign_ins_per_address: int = Field(default=300, ge=0)
    """Maximum attempts to sign in from a client address in an hour, for all names together."""
    trusted_proxies: int = Field(default=0, ge=0)
    """Reverse proxies in front of the site that append their client's address to `X-Forwarded-For`; with 0 the header
    is ignored."""


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class ProcessConf:
    """Connections, threads and memory of a process."""

    pool_size: int = 20
    """PostgreSQL connections of the hot path."""
    database_threads: int = 4
    """Threads for ORM queries outside of HTTP requests; each has a connection while it works."""
    page_connections: int = 10
    """PostgreSQL connections of a web process for pages, the admin and its database threads."""
    page_wait_seconds: float = 10.0
    """Maximum seconds that a page waits for one of these connections."""
    statement_seconds: float = 30.0
    """Longest duration of a statement in a web process; 0 is no limit."""
    audit_statement_seconds: float = 10.0
    """Longest duration of a statement of an admin page; 0 is no limit."""
    audit_replica_seconds: float = 60.0
    """Admin pages are not read from a replica that is further behind."""
    prepared_statements: bool = True
    """Keep prepared statements. Turn off behind a connection pooler that does not track them."""
    download_threads: int = 8
    """Threads to read downloaded files."""
    limit_threads: int = 4
    """Threads to count open sockets in Redis."""
    broker_threads: int = 2
    """Threads to send tasks to the broker."""
    cached_bytes: int = 256_000_000
    """Maximum bytes, by estimate, of a process's cache of events of recently used sessions."""
    cached_html_bytes: int = 32_000_000
    """Maximum bytes of a process's cache of rendered events."""
    streamed_bytes: int = 64_000_000
    """Maximum bytes of streamed text in a process; above it the longest texts are shown only once complete."""


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class AuditConf:
    """Masking and encryption of secrets, and limits on what staff may read."""

    masked_keys: tuple[str, ...] = MASKED_KEYS
    """Names of secrets. A value under such a key is masked for staff, in exports and in logs. `*` stands for any
    characters; case, `_` and `-` are ignored."""
    masked_patterns: tuple[re.Pattern[str], ...] = MASKED_PATTERNS
    """Regular expressions of texts to mask, besides numbers of payment cards. If a pattern has groups, only the groups
    are masked."""
    unmask_seconds: float = Field(default=900.0, gt=0)
    """Seconds for which staff see the masked values of a session after unmasking it."""
    second_person_for: tuple[Literal["unmask", "erase"], ...] = ()
    """Acts of staff to which a second member of staff with the same right must agree first (docs/security.md)."""
    second_person_hours: float = Field(default=24.0, gt=0)
    """Hours after a request to a second person in which the act may be agreed to and done."""
    reading_alert_rows: int = Field(default=0, ge=0)
    """Sessions and other rows that a member of staff opens within an hour without an alert; 0 is no limit."""
    working_hours: tuple[HourOfDay, HourOfDay] | None = None
    """Begin and end of the working hours in the site's time zone, such as `(7, 19)`: staff who read at other hours
    cause an alert. None is no limit."""
    reading_alert_group: str = ""
    """Group of users who get the alerts, by mail and by their webhooks for `reading.unusual`."""
    roots_place: str = ""
    """Directory or alias of `STORAGES` with the signed roots of `adk_seal`, from which sealed case files take their
    proofs. The processes only read it. Empty for case files without proofs."""
    roots_public_key: str = ""
    """Path of the PEM file with the public key of the signed roots."""
    error_detail_limit: int = 8_000
    """Maximum characters of an error's details to keep for staff; 0 keeps none."""
    access_log_days: int = Field(default=365, ge=0)
    """Days for which records of accesses by staff are kept, at least 30; 0 keeps them forever."""
    credential_keys: tuple[str, ...] = field(default=(), repr=False)
    """Texts from which the keys that encrypt credentials are derived: the first one encrypts, all decrypt. Empty uses
    `SECRET_KEY` and `SECRET_KEY_FALLBACKS`."""
    credential_seconds: float = 3600.0
    """Maximum seconds to keep a credential for an invocation that has not ended."""
    saved_credential_days: int = Field(default=90, ge=1)
    """Days after which credentials saved by tools for later invocations are deleted."""


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class AgentConf:
    """Sources of agents, and servers that they may reach."""

    access: Literal["everyone", "permission", "hidden"] = "everyone"
    """People who may use the agents of an app: everybody who is signed in (`everyone`), people with the permission
    `use_<app>`, which `migrate` creates (`permission`), or nobody (`hidden`). See docs/security.md."""
    agent_dirs: tuple[Path, ...] = ()
    """Directories of agent folders: each folder is an app (docs/authoring.md). Relative ones begin at the working
    directory."""
    reload_agents: bool = False
    """Import changed agents again while the site runs; for development."""
    replace_google_adk: bool = False
    """Let `google.adk` name this runtime in agent folders even if google-adk is installed."""
    mcp_servers: tuple[str, ...] | None = None
    """MCP servers that agents may reach: commands with their first arguments, and URLs with all below them; None
    allows all."""
    oauth_clients: dict[str, OAuth2Auth] = field(default_factory=dict, repr=False)
    """OAuth clients of this site by the address of the authorization server (issuer), such as
    `{"https://auth.example.com": {"client_id": "…", "client_secret": "…"}}`, for
    servers that register none themselves."""
    a2a_apps: tuple[str, ...] = ()
    """Names of the apps that are served by A2A (docs/a2a.md)."""
    webhooks_to_localhost: bool = False
    """Let webhooks reach this machine, also by plain HTTP; for development."""


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class SlackConf:
    """Agents in Slack (docs/slack.md)."""

    slack_signing_secret: str = field(default="", repr=False)
    """Signing secret of the Slack app."""
    slack_tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Bot tokens by the id of their workspace, such as `{"T024BE7LD": "xoxb-…"}`."""
    slack_agents: Mapping[str, str] = field(default_factory=dict)
    """Names of the apps that answer, by `workspace/channel`, by workspace, or by "" for all others."""
    slack_api: str = "https://slack.com/api/"
    """Address of Slack's Web API."""


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class TelemetryConf:
    """Metrics and traces for other systems."""

    metrics_token: str = field(default="", repr=False)
    """Token with which Prometheus reads `metrics`, as `Authorization: Bearer ...`; without it only staff read them."""
    otlp_endpoint: str = ""
    """URL to which OpenTelemetry sends the spans of invocations, such as `http://localhost:4318/v1/traces`; empty
    sends none."""
    otlp_content: bool = False
    """Send what was said with the spans: messages, answers, arguments and results of tools, masked."""


@dataclass(frozen=True, config=NO_UNKNOWN_FIELDS)
class Conf(
    InvocationConf,
    ModelConf,
    JobConf,
    SessionConf,
    MemoryConf,
    PageConf,
    StreamConf,
    QuotaConf,
    ProcessConf,
    AuditConf,
    AgentConf,
    SlackConf,
    TelemetryConf,
):
    """All settings of a site, in `settings.ADK` under their names. Durations are in seconds."""

    apps: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Overrides by app name, of `access`, `queue_policy`, `chat_models`, `max_invocations_per_app`, `retention_days`,
    `pack_days`, `custom_instructions_limit`, `remember_facts` and the settings below it, and the limits of an
    invocation."""

    def of_app(self, app_name: str) -> "Conf":
        """Return the settings with the app's overrides."""
        return replace(self, **self.apps.get(app_name, {}))

    def by_app(self, setting: str) -> dict[str, Any]:
        """Return a setting's overrides by app name, and under "" the value for all other apps."""
        overrides = {name: values[setting] for name, values in self.apps.items() if setting in values}
        return {**overrides, "": getattr(self, setting)}

    def access_of(self, app_name: str) -> str:
        """Return who may use the app: the value of `access` for it."""
        return str(self.apps.get(app_name, {}).get("access", self.access))

    @property
    def closes_apps(self) -> bool:
        """True if any app is not open to everybody."""
        return any(rule != EVERYONE for rule in self.by_app("access").values())

    def price(self, model: str) -> Price | None:
        """Return the price of a model: the entry of `prices` whose key is the longest prefix of the name.

        Without such an entry, return the list price of a well-known model; None for any other model.
        """
        prefix = _longest_prefix(self.prices, model)
        if prefix is not None:
            return self.prices[prefix]
        return list_price(model)

    def model_rate_limit(self, model: str) -> tuple[str, RateLimit] | None:
        """Return the rate limit of a model and its key, the longest prefix of the name in `model_rate_limits`."""
        # With the key, because all models with this prefix share the limit and are counted under the key.
        prefix = _longest_prefix(self.model_rate_limits, model)
        return None if prefix is None else (prefix, self.model_rate_limits[prefix])


def _longest_prefix(keys: Iterable[str], name: str) -> str | None:
    return max((key for key in keys if name.startswith(key)), key=len, default=None)


@lru_cache(maxsize=1)
def conf() -> Conf:
    """Return the settings of the site. Cached; tests may override `settings.ADK`.

    Raises:
        pydantic.ValidationError: `settings.ADK` has an unknown key or a value of the wrong type.
    """
    values = _with_new_names(getattr(settings, "ADK", {}))
    apps = values.get("apps", {})
    # A value of another type is left to pydantic, whose error `check_settings` reports.
    if isinstance(apps, Mapping):
        values["apps"] = {name: _with_new_names(overrides) for name, overrides in apps.items()}
    return Conf(**values)


def _with_new_names(values: Mapping[str, Any]) -> dict[str, Any]:
    return {RENAMED.get(name, name): value for name, value in values.items()}
