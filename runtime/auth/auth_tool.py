"""The request of a tool for a credential (contract T8).

A tool gives its `AuthConfig`, with the OAuth client's secret, to the runtime. Browsers and events get the copy made by
`without_secrets`. The user's credential comes back as `exchanged_auth_credential`, and a credential service keeps it
under `credential_key`.
"""

import hashlib
import json
from typing import Any, Self

from pydantic import BaseModel, field_validator, model_validator

from runtime.auth.auth_credential import AuthCredential
from runtime.auth.auth_schemes import AuthModel, AuthScheme


class AuthConfig(AuthModel):
    """A security scheme and its credential.

    Attributes:
        raw_auth_credential: data configured by the tool's author, such as the OAuth client's secret.
        exchanged_auth_credential: credential given by the user, or the token for which it was exchanged.
        credential_key: key under which credential services store the credential. The default is derived from the
            scheme and the client, without secrets, so equal configs have the same key in every process.
    """

    auth_scheme: AuthScheme
    raw_auth_credential: AuthCredential | None = None
    exchanged_auth_credential: AuthCredential | None = None
    credential_key: str = ""

    @field_validator("auth_scheme", mode="before")
    @classmethod
    def _read_foreign_scheme(cls, scheme: Any) -> Any:
        """Accept models of other libraries with OpenAPI's JSON, such as FastAPI's."""
        if isinstance(scheme, BaseModel) and not isinstance(scheme, AuthModel):
            return scheme.model_dump(mode="json", by_alias=True, exclude_none=True)
        return scheme

    @model_validator(mode="after")
    def _derive_credential_key(self) -> Self:
        if not self.credential_key:
            self.credential_key = f"adk_credential_{self._fingerprint()}"
        return self

    def without_secrets(self) -> "AuthConfig":
        """Return a copy for the user and for events, with scheme, public client data and key only."""
        raw = self.raw_auth_credential
        return AuthConfig(
            auth_scheme=self.auth_scheme,
            raw_auth_credential=raw.without_secrets() if raw else None,
            credential_key=self.credential_key,
        )

    def _fingerprint(self) -> str:
        # Only what identifies the client: a rotated secret must not lose the users' credentials.
        identity: dict[str, Any] = {
            "scheme": self.auth_scheme.model_dump(mode="json", exclude_none=True),
            "type": None,
            "resource": None,
            "client": None,
        }
        raw = self.raw_auth_credential
        if raw:
            identity |= {"type": raw.auth_type, "resource": raw.resource_ref}
            if raw.oauth2:
                identity["client"] = raw.oauth2.client_id
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


class AuthToolArguments(AuthModel):
    """Arguments of an `adk_request_credential` call: the call that needs a credential, and its config."""

    function_call_id: str
    auth_config: AuthConfig
