"""Programs that register themselves (RFC 7591), and the grants that people give them: signed values, nothing is stored.

    client id    name of the program and its return addresses, for as long as the site's secret is the same
    code         one person's grant to one program, for `CODE_SECONDS`

A code names the row of the API key that is made for it, so that the table of keys refuses a code the second time.
"""

import re
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from django.core import signing
from django.utils.crypto import constant_time_compare
from pydantic import AnyUrl, TypeAdapter, ValidationError

from sessions_app.models import Scope
from sessions_app.rendering.hidden_characters import escape_hidden

SALT_OF_CLIENTS = "sessions_app.contrib.mcp.client"
SALT_OF_CODES = "sessions_app.contrib.mcp.code"
CODE_SECONDS = 120
MAX_ADDRESSES = 10
MAX_ADDRESS_LENGTH = 500
MAX_NAME_LENGTH = 80
SCOPES = (Scope.READ, Scope.RUN, Scope.ANSWER)
"""Scopes that a program may ask for: those that the MCP server has a use for."""
LOOPBACK = ("127.0.0.1", "[::1]", "localhost")
_URL = TypeAdapter(AnyUrl)
_HOST = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:]+\]")


@dataclass(frozen=True)
class Program:
    """A registered program.

    Attributes:
        name: name that the program gives to itself, without hidden characters.
        addresses: addresses to which people may return with a code, as browsers write them.
    """

    name: str
    addresses: Sequence[str]

    @property
    def client_id(self) -> str:
        return signing.dumps(asdict(self), salt=SALT_OF_CLIENTS, compress=True)

    def return_address(self, asked: str) -> str | None:
        """Return the address as browsers write it; None if the program has not registered it.

        The port of a program on the person's own computer may be another one (RFC 8252, section 7.3).
        """
        address = checked_address(asked)
        if address is not None and _without_port(address) in map(_without_port, self.addresses):
            return address
        return None


@dataclass(frozen=True)
class Grant:
    """Content of a code: what a person has allowed a program.

    Attributes:
        key_id: primary key of the API key to make.
        client_id_digest: digest of the program's client id, which is too long for an address.
        challenge: S256 challenge of PKCE (RFC 7636).
        resource: address of the MCP server (RFC 8707).
    """

    key_id: str
    user_id: str
    client_id_digest: str
    address: str
    challenge: str
    resource: str
    scopes: Sequence[str]

    @property
    def code(self) -> str:
        return signing.dumps(asdict(self), salt=SALT_OF_CODES, compress=True)

    def is_answered_by(self, verifier: str) -> bool:
        """True for the secret of which the program has sent the challenge."""
        digest = sha256(verifier.encode()).digest()
        return constant_time_compare(urlsafe_b64encode(digest).rstrip(b"=").decode(), self.challenge)


def named_program(name: str, addresses: Sequence[str]) -> Program:
    """Return the program with the name as people read it; without a name it is called after its address."""
    shown = escape_hidden(name.strip()) or urlsplit(addresses[0]).netloc
    return Program(shown[:MAX_NAME_LENGTH], addresses)


def program_of(client_id: str) -> Program | None:
    """Return the program with the client id; None if the site has not made the id."""
    fields = _signed(client_id, SALT_OF_CLIENTS)
    return Program(**fields) if fields else None


def grant_of(code: str) -> Grant | None:
    """Return the grant of a code; None if the site has not made the code, or it is too old."""
    fields = _signed(code, SALT_OF_CODES, CODE_SECONDS)
    return Grant(**fields) if fields else None


def checked_address(address: str) -> str | None:
    """Return the address as browsers write it; None if no code may be sent there.

    It must be of HTTPS, or of a program on the person's own computer, without user and fragment.
    """
    if len(address) > MAX_ADDRESS_LENGTH:
        return None
    try:
        url = _URL.validate_python(address)
    except ValidationError:
        return None
    is_own_computer = url.scheme == "http" and url.host in LOOPBACK
    is_plain = url.username is None and url.password is None and url.fragment is None
    # Browsers take hosts such as `a;sandbox`, which would end a directive of the page's content security policy.
    is_plain = is_plain and _HOST.fullmatch(url.host or "") is not None
    if not is_plain or not (is_own_computer or url.scheme == "https"):
        return None
    return str(url)


def _without_port(address: str) -> Any:
    url = AnyUrl(address)
    port = None if url.scheme == "http" else url.port
    return url.scheme, url.host, port, url.path, url.query


def _signed(text: str, salt: str, seconds: int | None = None) -> dict[str, Any] | None:
    try:
        fields: dict[str, Any] = signing.loads(text, salt=salt, max_age=seconds)
    except signing.BadSignature:
        return None
    return fields
