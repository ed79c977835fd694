"""Blocks of questions that the user answers in a form, and of the answers.

A question is a call with a special name, marked as long-running by the engine. The mark is what counts: a model can
call any name, and could otherwise show users a form that looks like the site's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext
from pydantic import ValidationError

from runtime import types
from runtime.auth.auth_credential import AuthCredentialTypes
from runtime.auth.auth_schemes import (
    APIKey,
    HTTPBase,
    OAuth2,
    OpenIdConnect,
    OpenIdConnectWithConfig,
    ProtectedResource,
)
from runtime.auth.auth_tool import AuthConfig, AuthToolArguments
from runtime.events import Event as RuntimeEvent
from runtime.events.calls import (
    CHOICE_TOOL,
    REMOTE_AUTH,
    REMOTE_QUESTIONS,
    REQUEST_CREDENTIAL,
    REQUEST_INPUT,
    TEXT_QUESTIONS,
    unwrapped,
)
from sessions_app.base.codec import json_object
from sessions_app.history.event_marks import answerer_in
from sessions_app.rendering.outline import as_words, labels_of, one_line, outline
from sessions_app.secrets.masking import shortened

_SCHEMA_INPUTS = {"integer": "number", "number": "number", "boolean": "checkbox"}
"""Types of HTML inputs by the type of a JSON schema; a text for all others."""
MAX_UNFOLDED_LENGTH = 1_000
"""Characters above which a question folds an argument, and the page a message of the user."""
MAX_BRIEF_LENGTH = 60
"""Characters of an argument in the line of its call."""
MAX_EXACT_INTEGER = 2**53 - 1
"""Largest integer that a browser's number input keeps exactly."""


@dataclass(frozen=True)
class ChoiceBlock:
    """A question with options, asked by the tool `get_user_choice`."""

    kind: ClassVar = "choice"
    call_id: str
    options: list[str]


@dataclass(frozen=True)
class ChosenBlock:
    """The chosen option.

    Attributes:
        staff: name of the member of staff who chose; empty if the user did.
    """

    kind: ClassVar = "chosen"
    verdict: ClassVar = "given"
    call_id: str
    text: str
    staff: str = ""

    def sentence(self, time: SafeString) -> SafeString:
        """Return the sentence for the page; `time` is the HTML of the time of the answer."""
        if self.staff:
            pattern = gettext("<bdi>{staff}</bdi> (staff) chose <bdi>{text}</bdi>, {time}")
        else:
            pattern = gettext("You chose <bdi>{text}</bdi>, {time}")
        return format_html(pattern, staff=self.staff, text=self.text, time=time)


@dataclass(frozen=True)
class Field:
    """An input of a form.

    Attributes:
        name: name of the value in a payload, or dotted path in a credential.
        type: type of the HTML input, or `lines` for a text with line breaks.
        is_optional: True for a value that may be left out.
    """

    name: str
    label: str
    type: str
    value: str = ""
    is_optional: bool = False


@dataclass(frozen=True)
class ShownArgument:
    """An argument of a call to approve or reject, or a value that a question is about."""

    label: str
    text: str

    @property
    def is_long(self) -> bool:
        """True if the page shows only the beginning until the user asks for the whole text."""
        return len(self.text) > MAX_UNFOLDED_LENGTH

    @property
    def beginning(self) -> str:
        """Return the beginning of the text, in one line."""
        return shortened(" ".join(self.text[: 2 * MAX_BRIEF_LENGTH].split()), MAX_BRIEF_LENGTH)


@dataclass(frozen=True)
class CredentialRequestBlock:
    """A request for a credential.

    Attributes:
        fields: inputs; empty for a kind of credential that users cannot give here.
        constants: fixed parts of the answer, as (dotted path, value).
        link: for OAuth, the page on which the user grants access.
        service: for a sign-in on a page of the service, which needs no input here, the host of the service.
    """

    kind: ClassVar = "credential_request"
    name: ClassVar = REQUEST_CREDENTIAL
    call_id: str
    title: str
    description: str
    fields: Sequence[Field] = ()
    constants: Sequence[tuple[str, str]] = ()
    link: str = ""
    service: str = ""


@dataclass(frozen=True)
class CredentialBlock:
    """The user's answer to a request for a credential.

    Attributes:
        is_given: False when the user gave no credential.
    """

    kind: ClassVar = "credential"
    verdict: ClassVar = "given"
    call_id: str
    is_given: bool

    def sentence(self, time: SafeString) -> SafeString:
        """Return the sentence for the page; `time` is the HTML of the time of the answer."""
        if self.is_given:
            pattern = gettext("Given by you, {time}")
        else:
            pattern = gettext("Not given by you, {time}")
        return format_html(pattern, time=time)


@dataclass(frozen=True)
class RemoteQuestionBlock:
    """A question of a remote agent, answered with a text.

    Attributes:
        is_sign_in: True if the user signs in elsewhere, and here only confirms it.
    """

    kind: ClassVar = "remote_question"
    call_id: str
    name: str
    agent: str
    text: str
    is_sign_in: bool


@dataclass(frozen=True)
class InputRequestBlock:
    """A question of a workflow's node.

    Attributes:
        text: the question, in Markdown; empty if the node gave none.
        args: the data to decide on.
    """

    kind: ClassVar = "input_request"
    call_id: str
    name: str
    agent: str
    text: str
    args: list[ShownArgument]
    fields: list[Field]

    @property
    def has_yes_and_no_buttons(self) -> bool:
        """True if two buttons take the place of the only input."""
        return [(field.name, field.type) for field in self.fields] == [("result", "checkbox")]


@dataclass(frozen=True)
class RepliedBlock:
    """The user's answer to a remote agent, or to a workflow's node.

    Attributes:
        text: the answer; empty if the user wrote a message instead.
        is_sign_in: see `RemoteQuestionBlock`.
        staff: name of the member of staff who skipped the question; empty if the user answered.
    """

    kind: ClassVar = "replied"
    verdict: ClassVar = "given"
    call_id: str
    text: str
    is_sign_in: bool
    staff: str = ""

    def sentence(self, time: SafeString) -> SafeString:
        """Return the sentence for the page; `time` is the HTML of the time of the answer."""
        if self.staff:
            pattern = gettext("Skipped by <bdi>{staff}</bdi> (staff), {time}")
            return format_html(pattern, staff=self.staff, time=time)
        if not self.text:
            pattern = gettext("Answered by a message, {time}")
        elif self.is_sign_in:
            pattern = gettext("Done, {time}")
        else:
            pattern = gettext("You answered <bdi>{text}</bdi>, {time}")
        return format_html(pattern, text=self.text, time=time)


@dataclass(frozen=True)
class StoppedBlock:
    """The end of a question when staff stopped its invocation."""

    kind: ClassVar = "stopped"
    verdict: ClassVar = "given"
    call_id: str

    def sentence(self, time: SafeString) -> SafeString:
        """Return the sentence for the page; `time` is the HTML of the time of the end."""
        return format_html(gettext("Stopped by staff, {time}"), time=time)


def form_block(
    call: types.FunctionCall, event: RuntimeEvent, agent: str
) -> ChoiceBlock | CredentialRequestBlock | RemoteQuestionBlock | InputRequestBlock | None:
    """Return the block of a call that is answered in a form; None for other calls. `agent` names who asks."""
    if not event.is_long_running(call.id):
        return None
    if call.name == CHOICE_TOOL:
        return _choice_block(call)
    if call.name == REQUEST_CREDENTIAL:
        return credential_request_block(call)
    if call.name == REQUEST_INPUT:
        return _input_request_block(call, agent)
    if call.name in REMOTE_QUESTIONS:
        text = next(iter((call.args or {}).values()), "")
        is_sign_in = call.name == REMOTE_AUTH
        return RemoteQuestionBlock(call.id or "", call.name, agent, str(text), is_sign_in)
    return None


def _choice_block(call: types.FunctionCall) -> ChoiceBlock | None:
    """Return the block of a pending choice; None without options."""
    options = (call.args or {}).get("options")
    if not isinstance(options, list) or not options:
        return None
    return ChoiceBlock(call.id or "", [_option_text(option) for option in options])


def credential_request_block(call: types.FunctionCall) -> CredentialRequestBlock | None:
    """Return the block of a request for a credential; None if its arguments cannot be read."""
    try:
        config = AuthToolArguments.model_validate(call.args).auth_config
    except ValidationError:
        return None
    description = config.auth_scheme.description or ""
    call_id = call.id or ""
    if service := _sign_in_service(config):
        title = gettext("Your sign-in is needed")
        return CredentialRequestBlock(call_id, title, description, service=service)
    return _form_of(config, call_id, description)


def _input_request_block(call: types.FunctionCall, agent: str) -> InputRequestBlock:
    args = call.args or {}
    values = _by_name(args.get("payload"))
    labels = labels_of(values)
    # jsonb keeps no order: sorted, values and fields look the same in the chat, after a reload and in the inbox.
    shown = [ShownArgument(labels[name], outline(value, None)[0]) for name, value in sorted(values.items())]
    schema = json_object(args.get("response_schema"))
    text = str(args.get("message") or "")
    return InputRequestBlock(call.id or "", REQUEST_INPUT, agent, text, shown, schema_fields(schema))


def replied_block(response: types.FunctionResponse, event: RuntimeEvent) -> RepliedBlock | None:
    """Return the block of an answer to a remote agent, or to a workflow's node; None for other responses."""
    if response.name not in TEXT_QUESTIONS:
        return None
    is_of_person = event.author == "user"
    content = response.response or {}
    answer = content.get("result") or ""
    if response.name == REQUEST_INPUT:
        # The runtime answers a call of this name that a model has made: its error is no answer of a person.
        if not is_of_person:
            return None
        answer = unwrapped(content)
    text = _answer_text(answer) if is_of_person else ""
    return RepliedBlock(response.id or "", text, response.name == REMOTE_AUTH, answerer_in(event)[1])


def chosen_block(response: types.FunctionResponse, event: RuntimeEvent) -> ChosenBlock | None:
    """Return the block of an answer to a choice; None for other responses."""
    if response.name != CHOICE_TOOL or event.author != "user":
        return None
    content = response.response or {}
    option = _option_text(unwrapped(content))
    return ChosenBlock(response.id or "", option, answerer_in(event)[1])


def payload_fields(payload: Any) -> list[Field]:
    """Return inputs for texts, numbers and booleans of a confirmation's payload. Other values get no input."""
    values = _by_name(payload)
    fields = []
    for name in sorted(values):
        input_type = _input_type(values[name])
        if input_type:
            label = as_words(name) or pgettext("noun", "Answer")
            fields.append(Field(name, label, input_type, _input_value(values[name])))
    return fields


def schema_fields(schema: Mapping[str, Any]) -> list[Field]:
    """Return the inputs for an answer that follows a JSON schema; a text without one."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return [Field("result", pgettext("noun", "Answer"), _schema_input(schema))]
    labels = labels_of(properties)
    required = schema.get("required")
    if not isinstance(required, list):
        required = []
    fields = []
    for name, property_ in sorted(properties.items()):
        input_type = _schema_input(json_object(property_))
        fields.append(Field(name, labels[name], input_type, is_optional=name not in required))
    return fields


def _by_name(payload: Any) -> Mapping[str, Any]:
    """Return the values of a payload by name; a value that is no object has no name."""
    if payload is None:
        return {}
    return payload if isinstance(payload, Mapping) else {"": payload}


def _schema_input(schema: Mapping[str, Any]) -> str:
    """Return the type of the HTML input for a value that follows a JSON schema."""
    return _SCHEMA_INPUTS.get(str(schema.get("type")), "text")


def _sign_in_service(config: AuthConfig) -> str:
    """Return the host of the service at which the user signs in; empty if the user fills in a form here.

    A tool with its own redirect address gets the answer of the service from the form.
    """
    if isinstance(config.auth_scheme, ProtectedResource):
        return _host(config.auth_scheme.resource)
    if not isinstance(config.auth_scheme, OAuth2 | OpenIdConnect | OpenIdConnectWithConfig):
        return ""
    client = config.raw_auth_credential.oauth2 if config.raw_auth_credential else None
    page = (client and client.auth_uri) or ""
    if client is None or client.redirect_uri or "redirect_uri" in page or not is_web_address(page):
        return ""
    return _host(page)


def _host(address: str) -> str:
    return urlsplit(address).netloc.rpartition("@")[2]


def _form_of(config: AuthConfig, call_id: str, description: str) -> CredentialRequestBlock:
    """Return the request with a form, whose inputs depend on the scheme."""
    scheme = config.auth_scheme
    raw = config.raw_auth_credential
    if raw and raw.auth_type == AuthCredentialTypes.SERVICE_ACCOUNT:
        return CredentialRequestBlock(call_id, gettext("A service account is needed"), description)
    if isinstance(scheme, APIKey):
        constants = [("authType", AuthCredentialTypes.API_KEY.value)]
        key = Field("apiKey", gettext("Key ({name})").format(name=scheme.name), "password")
        return CredentialRequestBlock(call_id, gettext("A key is needed"), description, [key], constants)
    if isinstance(scheme, HTTPBase):
        constants = [("authType", AuthCredentialTypes.HTTP.value), ("http.scheme", scheme.scheme)]
        token = Field("http.credentials.token", gettext("Token"), "password")
        user = Field("http.credentials.username", gettext("User name"), "text")
        password = Field("http.credentials.password", gettext("Password"), "password")
        if scheme.scheme.lower() == "basic":
            title = gettext("A user name and a password are needed")
            return CredentialRequestBlock(call_id, title, description, [user, password], constants)
        return CredentialRequestBlock(call_id, gettext("A token is needed"), description, [token], constants)
    link = (raw and raw.oauth2 and raw.oauth2.auth_uri) or ""
    if not is_web_address(link):
        return CredentialRequestBlock(call_id, gettext("Your permission is needed"), description)
    constants = [("authType", scheme.type_.value)]
    label_of_address = gettext("Address of the page to which you were sent afterwards")
    address = Field("oauth2.authResponseUri", label_of_address, "url")
    title = gettext("Your permission is needed")
    return CredentialRequestBlock(call_id, title, description, [address], constants, link)


def _answer_text(answer: Any) -> str:
    lines, _ = outline(answer, None)
    return one_line(" · ".join(lines.split("\n")))


def is_web_address(address: str) -> bool:
    """Return True if a person can be sent to the address."""
    # The address comes from a tool: with another scheme, such as `javascript:`, the link would run a script.
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def _input_type(value: Any) -> str:
    """Return the type of the input for a value; empty if no input can hold the value."""
    if isinstance(value, bool):
        return "checkbox"
    if isinstance(value, int | float):
        return "number" if abs(value) <= MAX_EXACT_INTEGER else ""  # the browser would round a larger number
    if isinstance(value, str):
        return "lines" if "\n" in value or "\r" in value else "text"
    return "text" if value is None else ""


def _input_value(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else ""
    return "" if value is None else str(value)


def _option_text(value: Any) -> str:
    return one_line(value).strip() or gettext("(empty)")
