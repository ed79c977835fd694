"""Allow-list of the MCP servers that toolsets of this process may reach.

A toolset of the stdio transport starts a program, so an agent's author could run any command in the site's process.
With a list, the operator decides on commands and addresses.
"""

import shlex
from collections.abc import Sequence
from urllib.parse import urlsplit

from runtime.errors import ConfigurationError
from runtime.models.base_llm import SetupProblem

_allowed: tuple[str, ...] | None = None


def set_allowed_mcp_servers(allowed: Sequence[str] | None) -> None:
    """Set the commands and URLs that toolsets may use; None allows all. Does not affect open connections."""
    global _allowed
    _allowed = None if allowed is None else tuple(allowed)


def is_allowed_command(command: Sequence[str]) -> bool:
    """Return True if an entry of the list is the command or its beginning, word by word."""
    # Word by word: the entry `python tools` must not allow `python tools_of_others`.
    if _allowed is None:
        return True
    entries = [shlex.split(entry) for entry in _allowed if not _is_url(entry)]
    return any(entry and list(command[: len(entry)]) == entry for entry in entries)


def is_allowed_url(url: str) -> bool:
    """Return True if an entry of the list has the origin of the URL, and the path of the URL or of a folder above."""
    if _allowed is None:
        return True
    return any(_contains(entry, url) for entry in _allowed if _is_url(entry))


def refused_server_problem(server: str) -> SetupProblem:
    """Return the problem to report for a server missing on the list."""
    return SetupProblem(
        f"The MCP server {server!r} is not on the list of servers that agents may reach",
        "Add its command or URL to the setting 'mcp_servers', or remove the toolset from the agent.",
    )


def refused_server_error(server: str) -> ConfigurationError:
    """Return the error for a server missing on the list."""
    problem = refused_server_problem(server)
    return ConfigurationError(f"{problem.problem}. {problem.remedy}")


def _is_url(entry: str) -> bool:
    return entry.startswith(("http://", "https://"))


def _contains(entry: str, url: str) -> bool:
    allowed = urlsplit(entry)
    asked = urlsplit(url)
    if allowed.scheme != asked.scheme or allowed.netloc.lower() != asked.netloc.lower():
        return False
    # A server may resolve `..` and its encodings to the folder above.
    if ".." in asked.path or "%2e" in asked.path.lower():
        return False
    folder = allowed.path.rstrip("/")
    return asked.path.rstrip("/") == folder or asked.path.startswith(f"{folder}/")
