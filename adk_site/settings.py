"""Django settings, read from the environment.

Development (`ADK_DEV=1`, see `adk_site.development`): the secret key is stored in the data directory, cookies work over
plain HTTP, and static files are served from the source tree. Production requires `DATABASE_URL`, `REDIS_URL`,
`SECRET_KEY` and `ALLOWED_HOSTS`, and redirects all requests to HTTPS.

The order of `MIDDLEWARE` matters: a middleware sees requests after, and responses before, the entries above it.
"""

import os
import socket
import sys
from pathlib import Path
from typing import Any

import environ
from celery.schedules import crontab
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from adk_site.demo import banner, model_name
from adk_site.development import is_development, load_or_create_secret_key
from adk_site.embedded.paths import data_dir
from adk_site.embedded.postgres import postgres_url
from adk_site.embedded.redis import redis_url
from adk_site.sso import settings as sso
from sessions_app.process import lost_servers

env = environ.Env()
BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = data_dir()
DEV = is_development()
DEBUG: bool = env.bool("DEBUG", default=False)

if not DEV:
    for server in ("DATABASE_URL", "REDIS_URL"):
        if not env.str(server, default=""):
            raise ImproperlyConfigured(
                f"{server} is not set: set it to the URL of your server, or set ADK_DEV=1 for development."
            )
# A key in a file would differ between the machines of a production site, and sessions and signatures would break.
SECRET_KEY: str = env.str("SECRET_KEY", default="")
if not SECRET_KEY:
    if not DEV:
        raise ImproperlyConfigured("SECRET_KEY is not set: set it to a long random text, or set ADK_DEV=1.")
    SECRET_KEY = load_or_create_secret_key(DATA_DIR / "secret_key")

# Hosts, HTTPS and authentication

LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]", socket.gethostname(), env.str("HOST", default="localhost")]
ALLOWED_HOSTS: list[str] = env.list("ALLOWED_HOSTS", default=[])
if not ALLOWED_HOSTS:
    if not DEV:
        raise ImproperlyConfigured(
            "ALLOWED_HOSTS is not set: set it to the host names of the site, separated by commas, or set ADK_DEV=1."
        )
    ALLOWED_HOSTS = LOCAL_HOSTS
CSRF_TRUSTED_ORIGINS: list[str] = env.list("CSRF_TRUSTED_ORIGINS", default=[])
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not DEV
SECURE_SSL_REDIRECT: bool = env.bool("SECURE_SSL_REDIRECT", default=not DEV)
SECURE_HSTS_SECONDS: int = env.int("SECURE_HSTS_SECONDS", default=0 if DEV else 31_536_000)
SECURE_HSTS_INCLUDE_SUBDOMAINS = not DEV
# Off by default: browsers ship their preload lists, and removing a domain takes months.
SECURE_HSTS_PRELOAD: bool = env.bool("SECURE_HSTS_PRELOAD", default=False)
SILENCED_SYSTEM_CHECKS = [
    "security.W021",  # asks for HSTS preload
    "sessions_app.I001",  # says that the help desk finds memory by words only, which is enough for a demo
]
# Safe only behind a proxy that overwrites this header: otherwise a client could claim HTTPS.
if env.bool("BEHIND_HTTPS_PROXY", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# Settings of `sessions_app/conf.py`. Each trusted proxy appends the address of its client to X-Forwarded-For.
ADK: dict[str, Any] = {
    "trusted_proxies": env.int("TRUSTED_PROXIES", default=0),
    "metrics_token": env.str("METRICS_TOKEN", default=""),
    "agent_dirs": env.list("AGENT_DIRS", default=[]),
    "reload_agents": DEV,
    "webhooks_to_localhost": DEV,
}
if DEV:
    # The help desk of the demo remembers what people tell it, soon after a chat has ended.
    ADK["apps"] = {"help_desk": {"remember_facts": True, "remember_after_seconds": 60}}
X_FRAME_OPTIONS = "DENY"
# Nothing is loaded from other sites, and no inline script runs: text of a model cannot become code in the page.
CONTENT_SECURITY_POLICY: dict[str, Any] = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "frame-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "chat:start"
LOGOUT_REDIRECT_URL = LOGIN_URL
AUTHENTICATION_BACKENDS = ["adk_site.sign_in.SignInBackend", "django.contrib.auth.backends.ModelBackend"]
# Count wrong passwords by user name and client address together, so nobody can lock out another user.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = "adk_site.sign_in.failure_limit"
AXES_COOLOFF_TIME = "adk_site.sign_in.lock_time"
AXES_USERNAME_CALLABLE = "adk_site.sign_in.counted_name"
AXES_CLIENT_IP_CALLABLE = "adk_site.sign_in.counted_address"
AXES_LOCKOUT_CALLABLE = "adk_site.sign_in.locked_page"
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # the page says when a lock ends
AXES_RESET_ON_SUCCESS = True
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False  # `adk_site/admin.py` is read-only
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "csrfmiddlewaretoken"]
AXES_VERBOSE = False
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

# Apps, middleware and templates

INSTALLED_APPS = [
    # Daphne's `runserver` supports websockets. Other commands start faster without Daphne's Twisted.
    *(["daphne"] if sys.argv[1:2] == ["runserver"] else []),
    "sessions_app.admin_site.HomeAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "channels",
    "csp",
    "axes",
    "ninja",  # for the page `/api/v1/docs`
    "sessions_app",
    "sessions_app.contrib.a2a",
    "sessions_app.contrib.ag_ui",
    "sessions_app.contrib.evaluation",
    "sessions_app.contrib.knowledge",
    "sessions_app.contrib.mcp",
    "sessions_app.contrib.slack",
    "sessions_app.contrib.terminal",
    "adk_site",
]
MIDDLEWARE = [
    # First, so it compresses the final response of all others.
    "adk_site.compression.CompressPages",
    "sessions_app.asgi.problem_details.answer_with_problems",
    "django.middleware.security.SecurityMiddleware",
    *(["adk_site.static_files.CompressStaticFiles"] if DEV else []),
    "adk_site.static_files.serve_static_files",
    "csp.middleware.CSPMiddleware",
    # Before any code that writes to the database: PostgreSQL stores no NUL characters in text.
    "sessions_app.asgi.nul.refuse_nul",
    "sessions_app.asgi.device_permissions.limit_devices",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "sessions_app.asgi.time_zone.use_time_zone",
    # After LocaleMiddleware, whose choice it replaces.
    "adk_site.admin_language.use_english_in_admin",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]
# Signing in with an OpenID Connect provider

SSO_SERVER_URL: str = env.str("SSO_SERVER_URL", default="")
SSO_NAME: str = env.str("SSO_NAME", default="OpenID Connect")
if SSO_SERVER_URL:
    sso.require_package()
    INSTALLED_APPS += sso.APPS
    MIDDLEWARE.append(sso.MIDDLEWARE)
    AUTHENTICATION_BACKENDS.append(sso.BACKEND)
    SOCIALACCOUNT_PROVIDERS = sso.providers(
        name=SSO_NAME,
        server_url=SSO_SERVER_URL,
        client_id=env.str("SSO_CLIENT_ID", default=""),
        secret=env.str("SSO_CLIENT_SECRET", default=""),
    )
    SOCIALACCOUNT_ADAPTER = "adk_site.sso.adapter.VerifiedSubjectAdapter"
    ACCOUNT_EMAIL_VERIFICATION = "none"
    ACCOUNT_LOGIN_METHODS = {"username"}
    # Browsers apply `form-action` to redirects, too: the sign-in form is redirected to the provider's page.
    origins: list[str] = env.list("SSO_ORIGINS", default=[sso.origin_of(SSO_SERVER_URL)])
    CONTENT_SECURITY_POLICY["DIRECTIVES"]["form-action"] += origins

EMAIL_TIMEOUT = 10
"""Seconds. Waiting requests are locked while a mail about them is sent, so a mail server that hangs would hold them."""
ROOT_URLCONF = "adk_site.urls"
ASGI_APPLICATION = "adk_site.asgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
LANGUAGE_CODE = "en-gb"
LANGUAGES = [("en", "English"), ("de", "German"), ("es", "Spanish"), ("ar", "Arabic")]
# Searched before the catalogues of Django's own apps, which translate words such as "Save" differently.
LOCALE_PATHS = [BASE_DIR / "sessions_app/locale"]
LANGUAGE_COOKIE_AGE = 365 * 86_400
LANGUAGE_COOKIE_SECURE = not DEV
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
TIME_ZONE: str = env.str("TIME_ZONE", default="UTC")
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# PostgreSQL, Redis and files

DATABASE_URL: str = env.str("DATABASE_URL", default="") or postgres_url(DATA_DIR)
DATABASES: dict[str, dict[str, Any]] = {"default": env.db_url_config(DATABASE_URL)}
DATABASE_POOLED: bool = env.bool("DATABASE_POOLED", default=False)
# A streaming replica, from which the pages of staff are read.
if replica_url := env.str("DATABASE_REPLICA_URL", default=""):
    DATABASES["replica"] = env.db_url_config(replica_url)
    DATABASE_ROUTERS = ["sessions_app.process.replica.ReplicaRouter"]
for alias, database in DATABASES.items():
    if database["ENGINE"] != "django.db.backends.postgresql":
        variable = "DATABASE_URL" if alias == "default" else "DATABASE_REPLICA_URL"
        raise ImproperlyConfigured(
            f"{variable} must be the URL of a PostgreSQL database: postgresql://user:password@host/database"
        )
    database["ENGINE"] = "adk_site.postgresql"
    # Without this timeout, a process waits minutes for a server that does not answer at all.
    options: dict[str, Any] = {"connect_timeout": env.int("DATABASE_CONNECT_SECONDS", default=5)}
    options |= lost_servers.DATABASE_OPTIONS
    if not DATABASE_POOLED:
        options["options"] = lost_servers.SESSION_OPTIONS
    database["OPTIONS"] = {**options, **database.get("OPTIONS", {})}
# Behind a pooler in transaction mode the next transaction may have another session of PostgreSQL, where neither cursors
# nor prepared statements of this one exist. The pooler refuses the option by which web processes limit statements.
if DATABASE_POOLED:
    for database in DATABASES.values():
        database["DISABLE_SERVER_SIDE_CURSORS"] = True
    ADK |= {"prepared_statements": False, "statement_seconds": 0.0}
REDIS_URL: str = env.str("REDIS_URL", default="") or redis_url(DATA_DIR)
# PubSub, because nothing needs to be stored in Redis: a lost message only delays news.
CHANNEL_LAYERS: dict[str, Any] = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {
            "hosts": [{"address": REDIS_URL, "socket_timeout": 15, **lost_servers.redis_options(REDIS_URL)}]
        },
    }
}
STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATIC_STORAGE = "adk_site.static_files.HashedStaticFiles"
if DEV:
    STATIC_STORAGE = "django.contrib.staticfiles.storage.StaticFilesStorage"
MEDIA_ROOT = Path(env.str("MEDIA_ROOT", default=str(DATA_DIR / "media")))
# All processes must see the same files: use a shared directory or another storage backend.
MEDIA_BACKEND: str = env.str("MEDIA_BACKEND", default="django.core.files.storage.FileSystemStorage")
STORAGES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": MEDIA_BACKEND, "OPTIONS": env.json("MEDIA_OPTIONS", default={})},
    "staticfiles": {"BACKEND": STATIC_STORAGE},
}
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = DEV

# Celery

BROKER_URL: str = env.str("BROKER_URL", default="") or REDIS_URL
CELERY_BROKER_URL = BROKER_URL.replace("unix://", "redis+socket://", 1)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_SERIALIZER = "json"
CELERY_TASK_IGNORE_RESULT = True  # job results are stored in PostgreSQL
CELERY_ACCEPT_CONTENT = ["json"]
# A message stays in the broker until its task has ended, so another worker runs it if this one dies. A worker
# takes no messages ahead: they would wait behind a long job.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# Keep the handlers of LOGGING, which mask secrets.
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = TIME_ZONE
# The sweep takes over invocations and jobs of dead processes. Its message expires after an hour rather than after five
# seconds: beat sets the expiry and a worker checks it, and a worker whose clock is ahead would never sweep.
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "sweep": {"task": "sessions_app.sweep", "schedule": 5.0, "options": {"expires": 3600.0}},
    # At a fixed time: beat forgets intervals when its container is replaced.
    "housekeeping": {"task": "sessions_app.housekeeping", "schedule": crontab(hour="3", minute="17")},
}

# Model of the demo agents

ADK_MODEL: str = model_name(env.str("ADK_MODEL", default="gemini-2.5-flash"), os.environ)
ADK_BANNER = banner(ADK_MODEL, os.environ)

# Logging, to stderr

LOG_LEVEL: str = env.str("LOG_LEVEL", default="INFO")
LOG_FORMAT: str = env.str("LOG_FORMAT", default="plain")  # or "json"
PLAIN_FORMATTER = "sessions_app.secrets.masking.MaskingFormatter"
if DEV:
    PLAIN_FORMATTER = "adk_site.short_logs.OwnFramesFirst"
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {"()": "sessions_app.process.json_logs.JsonFormatter"},
        "plain": {
            "()": PLAIN_FORMATTER,
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        },
    },
    "filters": {
        "one line": {"()": "adk_site.short_logs.OneLine"},
        "no traceback": {"()": "adk_site.short_logs.NoTraceback"},
        "quiet sweeps": {"()": "adk_site.short_logs.QuietSweeps"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        "django": {"handlers": [], "level": LOG_LEVEL},
        # Several lines for each wrong password, without name and address; `adk_site.sign_in` writes a line instead.
        "axes": {"level": "ERROR"},
        "channels_redis.pubsub": {"filters": ["one line"]},  # tries to reach Redis each second
        # Names killed tasks, for example those interrupted by Ctrl-C; the traceback only shows Celery's own code.
        "celery.worker.request": {"filters": ["no traceback"]},
        "celery.beat": {"filters": ["quiet sweeps"]},
        "celery.worker.strategy": {"filters": ["quiet sweeps"]},
        "celery.app.trace": {"filters": ["quiet sweeps"]},
        # `make run` waits for the line "ready", whatever the worker's --loglevel.
        "celery.apps.worker": {"level": "INFO"},
    },
}
