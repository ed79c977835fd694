"""Masking: what counts as a secret, in texts, JSON values, JSON texts and pages."""

from __future__ import annotations

import ast
import json
import logging
import re
import time
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from adk_site.embedded.paths import CHECKOUT
from sessions_app.rendering.audit_values import TRUNCATE_AT, format_json, truncate
from sessions_app.secrets.masking import (
    MASK,
    MaskingFormatter,
    beginning_of,
    mask,
    mask_html,
    mask_json,
    mask_keys,
    mask_member,
    mask_text,
    masking,
    unmask,
)
from sessions_app.store.stored_values import MAX_SHOWN_CHARACTERS, StoredValue

SECRET = "hunter2hunter2hunter2"


@pytest.mark.parametrize(
    "text",
    [
        f"password={SECRET}",
        f"DETAIL: password={SECRET}",
        f'{{"apiKey": "{SECRET} and {SECRET}"}}',
        f'{{\\"api-key\\": \\"{SECRET}\\"}}',
        f"X-Api-Key: {SECRET}",
        f"my password is: {SECRET}",
        f"Hi, my password was {SECRET}, please change it",
        f"The API key is: {SECRET}",
        f"my api key: {SECRET}",
        f"the token: {SECRET}",
        f"Authorization: Bearer {SECRET}",
        f"Bearer token-{SECRET}",
        f"Bearer token.{SECRET}",
        f"Basic {b64encode(f'ada:{SECRET}'.encode()).decode()}",
        f"https://app:{SECRET}@host/x",
        f"sk-{SECRET}",
        f"sk_live_{SECRET}",
        f"github_pat_{SECRET}",
        f"glpat-{SECRET}",
        f"adk_{SECRET:x<43}",
        f"whsec_{SECRET:x<43}",
        f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}",
        f"id-eyJa-eyJ{SECRET}.{SECRET}.{SECRET}",
        f"eyJa.eyJb eyJ{SECRET}.{SECRET}.{SECRET}",
    ],
)
def test_a_secret_in_a_text_is_masked_once(text: str) -> None:
    masked = mask_text(text)
    assert SECRET not in masked and MASK in masked
    assert mask_text(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1111",
        "4111111111111111",
        "5500-0000-0000-0004",
        "3782 822463 10005",
        "4111 1111 11111111",
    ],
)
def test_numbers_of_cards_are_masked(text: str) -> None:
    assert mask_text(f"Card {text}.") == f"Card {MASK}."
    assert mask({"n": int(re.sub(r"\D", "", text))}) == {"n": MASK}


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("card 4111 1111 1111 1111 12/27 123", f"card {MASK} 12/27 123"),
        ("4111 1111 1111 1111 123", f"{MASK} 123"),
        ("4111111111111111 2027", f"{MASK} 2027"),
        ("4111 1111 1111 1111 5500 0000 0000 0004", f"{MASK} {MASK}"),
        ("5500-0000-0000-0004-123", f"{MASK}-123"),
        ("2026-11-23 27 4111 1111 1111 1111 for 12 34 56", f"2026-11-23 27 {MASK} for 12 34 56"),
        ("4111 1111 1111 1111 5th", f"{MASK} 5th"),
        ("4503 4111 1111 1111 1111", MASK),  # The first four groups are such a number, too.
    ],
)
def test_other_digits_beside_the_number_of_a_card_do_not_hide_it(text: str, masked: str) -> None:
    assert mask_text(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112",
        "0197b0a2-7c1e-7d42-9d1c-0d2a6c1f3b58",
        "order-4111111111111111",
        "41111111-1111-1111-9d1c-0d2a6c1f3b58",
        "1732351053123",
        "2026-11-23 05:14:22",
        "Tokens: 12",
        "promptTokenCount: 12",
        "task-0123456789abcdef0",
        "the password is wrong",
        "a password is 8 characters long",
        "the secret sauce: ketchup and mayonnaise",
        "the password is required since 2026",
        "eyJa-eyJb.eyJc",
        "Set GOOGLE_API_KEY, or pass Gemini(api_key=...).",
        "Set GOOGLE_API_KEY, or pass Gemini(api_key='…').",
        "client = Client(api_key=None)",
        "google.auth.exceptions.DefaultCredentialsError: Your default credentials were not found.",
        "Set DATABASE_URL to postgresql://user:password@host/database",
        "Send an API key as a bearer token.",
        "Basic authentication needs basic information.",
    ],
)
def test_what_only_resembles_a_secret_stays(text: str) -> None:
    assert mask_text(text) == text
    assert mask_json(json.dumps({"text": text})) == json.dumps({"text": text})


def sentences_of_errors() -> Iterator[str]:
    """Yield the texts in `raise` statements of the product, with X for each inserted value."""
    for package in ("runtime", "sessions_app", "adk_site"):
        for path in (CHECKOUT / package).rglob("*.py"):
            statements = ast.walk(ast.parse(path.read_text()))
            raised = [node for node in statements if isinstance(node, ast.Raise)]
            for text in (node for statement in raised for node in ast.walk(statement)):
                if isinstance(text, ast.JoinedStr):
                    yield re.sub(r"\{[^}]*\}", "X", ast.unparse(text)[2:-1])
                elif isinstance(text, ast.Constant):
                    yield str(text.value)


def test_the_advice_of_the_errors_of_this_repository_stays() -> None:
    sentences = list(sentences_of_errors())
    assert len(sentences) > 300
    assert [sentence for sentence in sentences if mask_text(sentence) != sentence] == []


def test_a_value_under_the_key_of_a_secret_is_masked_whole() -> None:
    value = {"user:token": [SECRET], "client_secret": {"a": SECRET}, "cvc": 0, "cvv": 1}
    masked = {"user:token": MASK, "client_secret": MASK, "cvc": MASK, "cvv": MASK}
    harmless = {"password": None, "cookie": "", "api_key": True, "id_token": False, "n": 1}
    assert mask(value) == mask_keys(value) == json.loads(mask_json(json.dumps(value))) == masked
    assert mask(harmless) == mask_keys(harmless) == json.loads(mask_json(json.dumps(harmless))) == harmless
    assert mask_keys({"said": f"password={SECRET}"}) == {"said": f"password={SECRET}"}
    assert mask_member("user:api_key", f'"{SECRET}"') == MASK


def test_names_of_members_are_masked_and_no_member_is_lost() -> None:
    cards = {"4111 1111 1111 1111": 1, "5555555555554444": 2, f"sk-{SECRET}": {"n": 3}, "name": 4}
    masked = mask(cards)
    assert list(masked.values()) == [1, 2, {"n": 3}, 4] and "name" in masked
    texts = (str(masked), mask_json(json.dumps(cards)))
    assert not any(secret in text for secret in ("4111", "5555", SECRET) for text in texts)
    assert mask_keys(cards) == cards, "Texts of the person stay in the person's own export."
    long = {f"{n} password={SECRET} {'x' * 200}": n for n in range(3)}
    assert SECRET not in str(mask(long)) and len(mask(long)) == 3


def test_json_keeps_each_digit_and_space_and_may_end_anywhere() -> None:
    text = (
        '{ "n": 1.10,"big":12345678901234567890123, "api_key" : {"x": ["' + SECRET + '"]}, "l": [1, "ü\\n"]}'
    )
    masked = mask_json(text)
    assert masked == text.replace('{"x": ["' + SECRET + '"]}', f'"{MASK}"')
    for end in range(len(text)):
        assert SECRET[:12] not in mask_json(text[:end])
    json.loads(masked)
    deep = "[" * 5000 + '{"token": "x"}' + "]" * 5000
    assert MASK in mask_json(deep)


@pytest.mark.parametrize("odd", [None, 5, [], "", "\x00\u202e\ud800", {"": {"": 4}}, True, 10**30, [[{}]]])
def test_odd_values_stay(odd: Any) -> None:
    assert mask(odd) == odd
    assert json.loads(mask_json(json.dumps(odd))) == odd


@pytest.mark.parametrize(
    "secret", ["4111 1111 1111 1111", "sk-abcdefghijklmnopqrstuvwx", "password=hunter2hunter2"]
)
def test_a_text_that_is_stored_does_not_end_within_a_secret(secret: str) -> None:
    for length in range(6, 50):
        kept = beginning_of(f"Pay now {secret} or never. Pay now or never.", length)
        assert len(kept) <= length
        shown = mask_text(kept)
        assert secret[:12] not in shown and "hunter" not in shown, (length, shown)
    assert beginning_of(f"Pay now {secret} or", 8) == "Pay now "
    assert beginning_of(f"Pay {secret}", 400) == f"Pay {secret}"


@pytest.mark.parametrize("shift", range(0, 20, 3))
def test_a_value_that_a_page_cuts_does_not_end_within_a_secret(shift: int) -> None:
    def around(cut: int) -> str:
        return f"{'x ' * (cut // 2 - 20)}{'y' * (38 - shift)} 4111 1111 1111 1111 {'z ' * cut}"

    text = around(TRUNCATE_AT)
    value = StoredValue("n", json.dumps(around(MAX_SHOWN_CHARACTERS)), 10_000)
    for shown in (truncate(text), format_json(text), format_json({"said": [text]}), value.shown):
        assert "yyy" in shown and "411" not in shown


def test_the_beginning_of_a_very_long_text_is_found_soon() -> None:
    assert len(beginning_of("4" * 10_000_000, 1_000)) == 1_000


def test_a_page_is_masked_outside_of_tags_and_fields() -> None:
    field = "<textarea>password=a1</textarea>"
    html = f'<p data-x="password=a1">password=a1 &quot;api_key&quot;: &quot;b c&quot;</p>{field}'
    assert mask_html(html) == (
        f'<p data-x="password=a1">password={MASK} &quot;api_key&quot;: &quot;{MASK}&quot;</p>' + field
    )
    assert mask_html("<p>password:</p><b>wrong</b>") == "<p>password:</p><b>wrong</b>"
    key = "<p>-----BEGIN PRIVATE KEY-----</p><p>abc</p><p>token=x</p>"
    assert mask_html(key).count("<p>") == 3 and "token=x" not in mask_html(key)


def test_masking_ends_for_one_block_only() -> None:
    with masking():
        unmask()
        assert mask_text(f"password={SECRET}") == mask(f"password={SECRET}") == f"password={SECRET}"
        assert mask_json(f'{{"token": "{SECRET}"}}') == f'{{"token": "{SECRET}"}}'
        assert mask_keys({"token": SECRET}) == {"token": MASK}
    assert SECRET not in mask_text(f"password={SECRET}")


def test_a_site_has_its_own_vocabulary(settings: Settings) -> None:
    settings.ADK = {
        **settings.ADK,
        "masked_keys": ("*iban*",),
        "masked_patterns": (r"P-\d{4}", r"name (\w+)!"),
    }
    assert mask({"Iban_2": "CH93", "token": "x"}) == {"Iban_2": MASK, "token": "x"}
    assert mask_text("P-1234 and name Ada!") == f"{MASK} and name {MASK}!"


def test_logs_are_masked_with_their_tracebacks() -> None:
    try:
        raise ValueError(f"password={SECRET}")
    except ValueError as error:
        record = logging.LogRecord(
            "x", 40, "", 1, "token=%s", (SECRET,), (ValueError, error, error.__traceback__)
        )
    line = MaskingFormatter("%(message)s").format(record)
    assert SECRET not in line and "ValueError" in line and MASK in line


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x0b", "\x85", "\u2028"])
def test_no_text_in_a_record_passes_for_another_record(end: str) -> None:
    forged = f"no such file{end}2026-01-01 00:00:00,000 INFO adk_site.sign_in: ada has signed in\x1b[1A"
    try:
        raise ValueError(forged)
    except ValueError as error:
        record = logging.LogRecord(
            "x", 40, "", 1, "Failed: %s", (forged,), (ValueError, error, error.__traceback__)
        )
    first, *others = MaskingFormatter("%(asctime)s %(message)s").format(record).splitlines()
    assert "Failed: no such file" in first
    assert others and all(line.startswith("    ") for line in others)
    assert "\x1b" not in "".join(others)


PIECES = (
    "a", "4", "27", "4 ", "4 4-", "4-", "4111 1111 ",
    "a=", "a ", "a is ", "password is ", "password  is  a",
    "key='", "password=", "password='", '"token":', "password=&quot;",
    "://a:b", "://a:b ", "a:b@", "bearer ", "basic a", "-eyJ", "eyJa.", "-sk-", "ghp_", "AIza", "AKIA",
    "-----BEGIN ", "-----BEGIN PRIVATE KEY", "-----BEGIN PRIVATE KEY-----", "-----END ",
)  # fmt: skip


@pytest.mark.timeout(30)  # A search that tries each way to divide a text never ends.
@pytest.mark.parametrize("end", ["", "L"])
@pytest.mark.parametrize("piece", PIECES)
def test_long_texts_take_linear_time(piece: str, end: str) -> None:
    times = []
    for length in (25_000, 200_000):
        began = time.process_time()
        mask_text(piece * (length // len(piece)) + end)
        times.append(time.process_time() - began)
    assert times[1] < 30 * times[0] + 0.5


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "piece", ["<", "<a ", "<script>", "<textarea <", "</style", "<script></", "<a>&lt;b "]
)
def test_a_page_with_many_raw_brackets_takes_linear_time(piece: str) -> None:
    times = []
    for length in (25_000, 200_000):
        began = time.process_time()
        masked = mask_html(f"<p>password={SECRET}</p>{piece * (length // len(piece))} password={SECRET}")
        times.append(time.process_time() - began)
        assert SECRET not in masked
    assert times[1] < 30 * times[0] + 0.1


@pytest.mark.timeout(30)
def test_a_letter_after_ten_thousand_digits_ends_the_search() -> None:
    text = "2" + "7" * 10_000 + "L"
    assert mask_text(text) == text
    assert mask_text(f"{text} 4111 1111 1111 1111") == f"{text} {MASK}"
