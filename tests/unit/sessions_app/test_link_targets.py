"""Contract: a link whose text is another address than its target names the host of its target."""

import pytest

from sessions_app.rendering.markdown.render import render_markdown
from tests.unit.sessions_app.rendered import Tags


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[https://bank.example](https://evil.example)", "https://bank.example \u2066(evil.example)\u2069"),
        ("[bank.example](https://evil.example/bank.example)", "bank.example \u2066(evil.example)\u2069"),
        (
            "[`www.bank.example/login`](http://evil.example)",
            "www.bank.example/login \u2066(evil.example)\u2069",
        ),
        (
            "[Go to **https://bank**.example.](https://evil.example)",
            "Go to https://bank.example. \u2066(evil.example)\u2069",
        ),
        ("[help@bank.example](mailto:help@evil.example)", "help@bank.example \u2066(evil.example)\u2069"),
        ("[ba\u200bnk.example](https://evil.example)", "ba\u200bnk.example \u2066(evil.example)\u2069"),
        ("[bank.example\u202b](https://evil.example)", "bank.example\u202b \u2066(evil.example)\u2069"),
        (
            "![https://bank.example](https://evil.example/a.png)",
            "https://bank.example \u2066(evil.example)\u2069",
        ),
        (
            "[https://bank.example@evil.example](https://evil.example)",
            "https://bank.example@evil.example \u2066(evil.example)\u2069",
        ),
        (
            "[https://b\u0430nk.example](https://bank.example)",
            "https://b\u0430nk.example \u2066(bank.example)\u2069",
        ),
        (
            "[https://bank.example](https://notbank.example)",
            "https://bank.example \u2066(notbank.example)\u2069",
        ),
    ],
)
def test_a_link_whose_text_is_another_address_names_its_target(text: str, shown: str) -> None:
    assert Tags(render_markdown(text)).text.strip() == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[https://bank.example](https://bank.example/login?a=1)", "https://bank.example"),
        ("[bank.example](https://www.bank.example)", "bank.example"),
        ("[www.bank.example](https://bank.example:8000/)", "www.bank.example"),
        ("[Bank.example/a](https://login.bank.example)", "Bank.example/a"),
        ("[https://b\u00fccher.example](https://b\u00fccher.example/x)", "https://b\u00fccher.example"),
        ("<https://b\u00fccher.example/x>", "https://b\u00fccher.example/x"),
        (
            "See (https://bank.example/), or https://bank.example.",
            "See (https://bank.example/), or https://bank.example.",
        ),
        ("[help@bank.example](mailto:help@bank.example)", "help@bank.example"),
        ("[README.md](https://code.example/README.md)", "README.md"),
        ("[「https://bank.example」です](https://bank.example)", "「https://bank.example」です"),
        ("[Node.js](https://nodejs.example)", "Node.js"),
        ("[Node.js, version 2.0](https://nodejs.example)", "Node.js, version 2.0"),
        ("[2.0](https://bank.example) [e.g.](https://bank.example)", "2.0 e.g."),
    ],
)
def test_other_links_are_shown_as_they_are(text: str, shown: str) -> None:
    assert Tags(render_markdown(text)).text.strip() == shown
