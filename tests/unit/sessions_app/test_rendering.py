"""Contract: `sessions_app.rendering` renders events and jobs readably and in order.

Text of a model or a person is escaped or sanitised: it never becomes active HTML.
"""

import re
from typing import Any

import pytest
from django.utils import translation

from runtime.engine.human_input.confirmation import REJECTED, REJECTED_BECAUSE
from runtime.events import Event
from runtime.events.calls import ResponseStatus
from runtime.events.tool_confirmation import default_hint
from sessions_app.history.event_marks import INTERRUPTED_CALL
from sessions_app.rendering.html import render_event
from sessions_app.rendering.markdown.render import render_markdown
from tests.counted_calls import counted_calls
from tests.unit.sessions_app.rendered import (
    DETAILS,
    FILES,
    HOSTILE,
    VIEW,
    Tags,
    assert_harmless,
    event_html,
    request_html,
)


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_of_a_model_becomes_harmless_html(text: str) -> None:
    assert_harmless(render_markdown(text))


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_a_person_is_shown_as_it_is(text: str) -> None:
    html = event_html({"text": text}, author="user")
    assert_harmless(html)
    assert text in Tags(html).text


def test_only_messages_of_text_alone_can_be_edited() -> None:
    answer = {"functionResponse": {"id": "c1", "name": "choose", "response": {"result": "blue"}}}
    file = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
    assert "data-edit" in event_html({"text": "one"}, {"text": "two"}, author="user")
    for parts in ([file, {"text": "look"}], [answer], [answer, {"text": "that one"}]):
        assert "data-edit" not in event_html(*parts, author="user")
    assert "data-edit" not in event_html({"text": "one"}, author="help_desk")


@pytest.mark.parametrize("text", HOSTILE)
def test_names_values_and_errors_are_escaped(text: str) -> None:
    html = event_html(
        {"functionCall": {"id": text, "name": text, "args": {text: text}}},
        {"functionResponse": {"id": text, "name": text, "response": {text: text}}},
        author=text,
        actions={"stateDelta": {text: text}, "artifactDelta": {text: 0}, "transferToAgent": text},
        errorMessage=text,
        invocationId=text,
    )
    assert_harmless(html)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("**bold** and ~~gone~~", "<p><strong>bold</strong> and <s>gone</s></p>"),
        ("# Title", "<h2>Title</h2>"),
        ("a < b & c", "<p>a &lt; b &amp; c</p>"),
        (
            "```python\nx = 1\n```",
            '<pre tabindex="0" data-language="python"><code>x = 1\n</code></pre>',
        ),
        ("    x = 1\n", '<pre tabindex="0"><code>x = 1\n</code></pre>'),
        ("| n |\n|--:|\n| 1 |", '<td class="right">1</td>'),
        ("one\ntwo", "<p>one<br>\ntwo</p>"),
        ("- [ ] *buy*", '<li class="task">☐ <em>buy</em></li>'),
        ("1. [X] sold", '<li class="task">☑ sold</li>'),
        ("- [x](https://a.example)", '<li><a href="https://a.example"'),
        ("[x] said", "<p>[x] said</p>"),
        ("| a |\n|---|\n| one<br>two<BR/>3 |", "<td>one<br>\ntwo<br>\n3</td>"),
        ("H<sub>2</sub>O, x<SUP>*n*</sup>", "<p>H<sub>2</sub>O, x<sup><em>n</em></sup></p>"),
        ("**a<sub>b**</sub>", "<p>**a<sub>b**</sub></p>"),
        ("a<sub>$b</sub> and c^2$", "<p>a<sub>$b</sub> and c^2$</p>"),
        ("`<br>` and <sub> and x</sup>", "<p><code>&lt;br&gt;</code> and &lt;sub&gt; and x&lt;/sup&gt;</p>"),
        ('<sub class="a">b</sub> <b>c</b>', '<p>&lt;sub class="a"&gt;b&lt;/sub&gt; &lt;b&gt;c&lt;/b&gt;</p>'),
    ],
)
def test_markdown_becomes_html(text: str, wanted: str) -> None:
    assert wanted in render_markdown(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("**「A」**です", "<strong>「A」</strong>です"),
        ("これは**「A」**と**「B」**だ", "これは<strong>「A」</strong>と<strong>「B」</strong>だ"),
        ("これは*（A）*と~~「B」~~だ", "これは<em>（A）</em>と<s>「B」</s>だ"),
        ("说明：**注意。**再见，**“好”**的", "说明：<strong>注意。</strong>再见，<strong>“好”</strong>的"),
        ('**"강조"**는 **한글(x)**을', '<strong>"강조"</strong>는 <strong>한글(x)</strong>을'),
        ("***「A」***の_「B」_は", "<em><strong>「A」</strong></em>の<em>「B」</em>は"),
        ("**A**、**B**。", "<strong>A</strong>、<strong>B</strong>。"),
        ("日本_語_です 「snake_case」_x", "日本_語_です 「snake_case」_x"),
        ("2 ** 3、** 4", "2 ** 3、** 4"),
        ("**Note:**text", "**Note:**text"),
    ],
)
def test_emphasis_ends_beside_letters_that_follow_without_a_space(text: str, wanted: str) -> None:
    assert render_markdown(text) == f"<p>{wanted}</p>\n"


@pytest.mark.parametrize(
    ("text", "classes", "wanted"),
    [
        ("> [!NOTE]\n> *One*\n> two", "note", "<p>Hinweis</p>\n<p><em>One</em><br>\ntwo</p>"),
        ("> [!tip] One\n>\n> two", "tip", "<p>Tipp</p>\n<p>One</p>\n<p>two</p>"),
        ("> [!IMPORTANT]\n>\n> - one", "important", "<p>Wichtig</p>\n<ul>\n<li>one</li>\n</ul>"),
        ("> [!WARNING]\n> > one", "warning", "<p>Warnung</p>\n<blockquote>\n<p>one</p>\n</blockquote>"),
        ("- > [!CAUTION]", "caution", "<p>Vorsicht</p>"),
    ],
)
def test_an_alert_is_a_note_whose_title_is_read_first(text: str, classes: str, wanted: str) -> None:
    with translation.override("de"):
        html = render_markdown(text)
    assert {"class": f"alert {classes}", "role": "note"} in Tags(html).all("div")
    assert wanted in html.replace(' class="alert-title"', "")


@pytest.mark.parametrize(
    "text", ["> [!NOTE](https://a.example)", "> a\n> [!NOTE]", "> [!NEWS]\n> a", "[!NOTE]"]
)
def test_other_quotations_are_no_alerts(text: str) -> None:
    html = render_markdown(text)
    assert "alert" not in html and "!N" in html


def test_links_open_in_a_new_tab_without_a_referrer() -> None:
    (link,) = Tags(render_markdown("[a](https://example.org/?a=1&b=2)")).all("a")
    assert link == {
        "href": "https://example.org/?a=1&b=2",
        "target": "_blank",
        "rel": "noopener noreferrer nofollow",
    }


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("See https://example.org/a_b?c=1&d=2.", ["https://example.org/a_b?c=1&d=2"]),
        ("(http://a.example/x_(y)), HTTPS://B.example!", ["http://a.example/x_(y)", "HTTPS://B.example"]),
        ("[https://a.example](https://b.example)", ["https://b.example"]),
        ("`https://a.example` xhttps://a.example ftp://a.example https://", []),
        ("https://例え.example/ä", ["https://xn--r8jz45g.example/%C3%A4"]),
        ("https://a.example/…)]", ["https://a.example/"]),
        ("https://a.example/1，https://a.example/2；", ["https://a.example/1", "https://a.example/2"]),
        ("“https://a.example/b”—https://a.example/c—d", ["https://a.example/b", "https://a.example/c"]),
        ("「https://a.example」です", ["https://a.example"]),
        (
            "詳細はhttps://a.example/docsを参照（https://a.example）",
            ["https://a.example/docs", "https://a.example"],
        ),
        (
            "https://a.example입니다. https://a.example:80に (https://a.example/b)を",
            ["https://a.example", "https://a.example:80", "https://a.example/b"],
        ),
        ("https://a.example👍 https://a.example\u200b**です**", ["https://a.example"] * 2),
        (
            "https://日本.example/日本・東京。 https://हिन्दी.example।",
            [
                "https://xn--wgv71a.example/%E6%97%A5%E6%9C%AC%E3%83%BB%E6%9D%B1%E4%BA%AC",
                "https://xn--j2bd4cyah0f.example",
            ],
        ),
        ("https://a.example/Michelson–Morley", ["https://a.example/Michelson%E2%80%93Morley"]),
        (
            "http://[::1]:8000/a https://user:word@a.example",
            ["http://[::1]:8000/a", "https://user:word@a.example"],
        ),
    ],
)
def test_bare_urls_become_links(text: str, urls: list[str]) -> None:
    assert [link["href"] for link in Tags(render_markdown(text)).all("a")] == urls


def test_images_in_markdown_become_links() -> None:
    html = render_markdown("![A chart](https://elsewhere.example/chart.png)")
    assert Tags(html).all("a")[0]["href"] == "https://elsewhere.example/chart.png"
    assert Tags(html).text.strip() == "A chart"


def test_an_article_carries_the_ids_of_its_event() -> None:
    (article,) = Tags(event_html({"text": "Hello"})).all("article")
    assert article["id"] == "event-7"
    assert (article["data-seq"], article["data-event-id"], article["data-invocation"]) == ("7", "id-7", "e-1")
    assert article["data-time"] == "1.5"


def test_a_persons_message_keeps_its_lines_exactly() -> None:
    assert '<div class="said" dir="auto">one\n  two</div>' in event_html(
        {"text": "one\n  two"}, author="user"
    )


def test_adjacent_text_parts_are_rendered_as_one_markdown_text() -> None:
    assert "<strong>bold</strong>" in event_html({"text": "**bo"}, {"text": "ld**"})


def test_thoughts_are_collapsed_and_separate_from_the_text() -> None:
    html = event_html({"text": "Let me see.", "thought": True}, {"text": "It is so."})
    assert html.index("<summary>Thoughts</summary>") < html.index("Let me see.") < html.index("It is so.")


def test_a_call_is_words_and_labelled_arguments_in_the_order_of_the_declaration() -> None:
    args = {"topic": "sales", "group_by": "region", "precise": True, "also_for": {"days": [3, None]}}
    html = event_html({"functionCall": {"id": "c1", "name": "write_report", "args": args}})
    (card,) = [tag for tag in Tags(html).all("details") if tag["class"] == "tool"]
    assert card["data-tool"] == "write_report"
    names = [span for span in re.findall(r'<span class="tool-\w+">([^<]+)</span>', html)]
    assert names == ["Write report", "Writing report…", "Wrote report"]
    assert re.findall(r"<dt[^>]*>(.*?)</dt>", html) == ["Topic", "Group by", "Precise", "Also for"]
    assert "<code>" not in html
    assert "Days:\n  - 3\n  - none</dd>" in html


def test_a_rejected_interrupted_or_cancelled_call_has_not_failed() -> None:
    stored_before = ResponseStatus.ERROR.with_error
    cancelled = {"status": "cancelled", "error": "The job was cancelled."}
    cancels_an_order = {"status": "cancelled", "order_number": 7}
    for response, state in (
        (ResponseStatus.REJECTED.with_error("No."), "declined"),
        (stored_before(REJECTED), "declined"),
        (stored_before(REJECTED_BECAUSE + "Too much"), "declined"),
        (ResponseStatus.INTERRUPTED.with_error("It was on its way."), "interrupted"),
        (ResponseStatus.STOPPED.with_error("Nobody answered."), "interrupted"),
        (stored_before(INTERRUPTED_CALL), "interrupted"),
        (ResponseStatus.ERROR.with_error("Out of paper"), "failed"),
        ({"status": "rejected", "reason": "Too much"}, "ok"),
        (cancelled, "cancelled"),
        (cancels_an_order, "ok"),
    ):
        html = event_html({"functionResponse": {"id": "c1", "name": "refund_order", "response": response}})
        assert Tags(html).all("details")[0]["data-state"] == state


def test_a_long_list_is_cut_before_it_is_written() -> None:
    response = {"result": [1] * 100_000}
    with counted_calls() as count:
        html = event_html({"functionResponse": {"id": "c", "name": "count", "response": response}})
        assert count() < 50_000
    assert "More is not shown." in html and len(html) < 6_000


@pytest.mark.parametrize("value", ["x" * 10_000, {"deep": ["x" * 10_000]}])
def test_a_long_argument_of_a_call_is_cut(value: object) -> None:
    call = {"functionCall": {"id": "c1", "name": "note", "args": {"text": value}}}
    for html in (event_html(call), event_html(call, view=DETAILS)):
        assert "x" * 3_000 in html and "…</dd>" in html and len(html) < 6_000


def test_a_recurrence_among_the_arguments_of_a_scheduled_task_is_in_words() -> None:
    args = {"task": "Check.", "every": "0 9 * * 1"}
    call = {"functionCall": {"id": "c1", "name": "schedule_task", "args": args}}
    for html in (event_html(call), request_html({"originalFunctionCall": call["functionCall"]})):
        assert "every Monday at 09:00" in html and "0 9 * * 1" not in html
    assert "0 9 * * 1" in event_html(call, view=DETAILS)
    other = {"functionCall": {"id": "c1", "name": "order_status", "args": args}}
    assert "0 9 * * 1" in event_html(other)


def test_a_request_for_approval_asks_in_words() -> None:
    call = {"id": "c1", "name": "refund_order", "args": {"order_number": 1007}}
    for hint, question in (
        (default_hint("refund_order"), "Refund order 1007?"),
        ("Refund 5 EUR?", "Refund 5 EUR?"),
    ):
        args = {"originalFunctionCall": call, "toolConfirmation": {"hint": hint}}
        html = request_html(args, author="orders")
        (section,) = Tags(html).all("section")
        assert (section["data-call-id"], section["data-asks-for"]) == ("r1", "c1")
        assert section["aria-label"] == "Approval: Refund order 1007"
        assert f"<b>{question}</b>" in html


def test_a_message_of_the_user_shows_hidden_characters_as_marks_and_folds_when_it_is_long() -> None:
    html = event_html(author="user", content={"parts": [{"text": "<b>\u202efdp"}]})
    assert '>&lt;b&gt;<span class="audit-hidden">\\u202e</span>fdp</div>' in html and "unfold" not in html
    for text, size in (("x" * 1001, "1,001"), ("line\n" * 20, "100")):
        html = event_html(author="user", content={"parts": [{"text": text}]})
        assert f'aria-expanded="false">{size} characters</button>' in html


@pytest.mark.parametrize("hint", ["", "Open \u202efdp.exe?"])
def test_a_request_for_approval_reads_as_the_call_will_run(hint: str) -> None:
    call = {
        "id": "c1",
        "name": "open_file",
        "args": {"items": "\u202efdp.exe", "a\u202eb": 1, "to": "a\u200bb"},
    }
    args = {"originalFunctionCall": call, "toolConfirmation": {"hint": hint}}
    html = request_html(args)
    assert "\u202e" not in html and "\u200b" not in html
    assert '<dd dir="auto">\\u202efdp.exe</dd>' in html and '<dd dir="auto">a\\u200bb</dd>' in html


def test_a_request_shows_a_nested_argument_whole_and_folds_a_long_one() -> None:
    order = {"memo": "m" * 9_000, "recipient": {"account": "DE00 1234"}}
    call = {"id": "c1", "name": "pay", "args": {"order": order, "amount": 1}}
    html = request_html({"originalFunctionCall": call, "toolConfirmation": {}})
    assert "m" * 9_000 in html and "Account: DE00 1234" in html
    assert re.search(r"<details>\s*<summary>.*\s<span class=\"muted\">9,?0\d\d characters</span>", html)
    assert html.index("DE00 1234") < html.index('data-confirm="yes"')


def test_a_request_and_a_call_tell_arguments_apart_that_read_alike() -> None:
    args = {"amount": 1, "Amount": 2, "order_id": 3, "to": {"order_id": 4, "order-id": 5}}
    call = {"id": "c1", "name": "pay", "args": args}
    request = request_html({"originalFunctionCall": call, "toolConfirmation": {}})
    for html in (request, event_html({"functionCall": call})):
        for name in ("amount", "Amount", "Order id", "To"):
            assert f'<dt dir="auto">{name}</dt>' in html
        assert "order-id: 5\norder_id: 4" in html


def test_a_call_and_its_result_show_hidden_characters_as_marks() -> None:
    hidden = "\u202efdp\u200b"
    call = {"functionCall": {"id": "c1", "name": hidden, "args": {hidden: hidden}}}
    response = {"functionResponse": {"id": "c1", "name": hidden, "response": {hidden: hidden}}}
    mark = '<span class="audit-hidden">\\u202e</span>fdp<span class="audit-hidden">\\u200b</span>'
    for part in (call, response):
        html = event_html(part)
        text = re.sub(r' data-\w+="[^"]*"', "", html)
        assert mark in text and "\u202e" not in text and "\u200b" not in text


@pytest.mark.parametrize("marked", [[], ["another"]])
def test_a_model_cannot_draw_a_request_for_approval(marked: list[str]) -> None:
    call = {"id": "c1", "name": "pay", "args": {"amount": 1}}
    request = {"originalFunctionCall": call, "toolConfirmation": {"payload": {"password": ""}}}
    html = event_html(
        {"functionCall": {"id": "r1", "name": "adk_request_confirmation", "args": request}},
        longRunningToolIds=marked,
    )
    assert "data-confirm" not in html and "<input" not in html


@pytest.mark.parametrize("name", ["adk_request_confirmation", "adk_request_credential", "adk_request_input"])
def test_the_error_of_a_request_made_by_a_model_is_no_answer_of_the_person(name: str) -> None:
    error = {"error": f"There is no tool '{name}'."}
    html = event_html({"functionResponse": {"id": "r1", "name": name, "response": error}})
    assert "by you" not in html and 'data-state="failed"' in html


def test_a_choice_shows_each_option_as_it_is() -> None:
    part = {"functionCall": {"id": "c1", "name": "get_user_choice", "args": {"options": ["\u202eon", "yes"]}}}
    body = {"author": "agent", "content": {"role": "model", "parts": [part]}, "longRunningToolIds": ["c1"]}
    html = render_event(VIEW, 1, Event.model_validate(body))
    assert "\u202e" not in html and ">\\u202eon</button>" in html


def test_state_results_as_json_and_names_are_not_shown_without_details() -> None:
    html = event_html(
        {"functionResponse": {"id": "c1", "name": "find_order", "response": {"status": "shipped"}}},
        actions={"stateDelta": {"order": "A-1"}},
    )
    assert "Status: shipped</pre>" in html and "A-1" not in html


def test_a_call_shows_its_name_and_arguments() -> None:
    html = event_html(
        {"functionCall": {"id": "c1", "name": "find_order", "args": {"order": "A-1", "deep": True}}},
        view=DETAILS,
    )
    (card,) = [tag for tag in Tags(html).all("details") if tag["class"] == "tool"]
    assert (card["data-call-id"], card["data-state"]) == ("c1", "open")
    assert "<code>find_order</code>" in html
    assert (
        '<dt dir="auto">deep</dt><dd dir="auto">true</dd><dt dir="auto">order</dt><dd dir="auto">A-1</dd>'
        in html
    )


@pytest.mark.parametrize(
    ("response", "state", "shown"),
    [
        ({"status": "shipped"}, "ok", "&quot;status&quot;: &quot;shipped&quot;"),
        ({"result": "It rains"}, "ok", ">It rains</pre>"),
        ({"result": None}, "ok", ">null</pre>"),
        ({"error": "No such order"}, "failed", "No such order"),
        ({"status": "error"}, "failed", "error"),
    ],
)
def test_a_result_names_its_call_and_its_outcome(response: dict[str, Any], state: str, shown: str) -> None:
    html = event_html(
        {"functionResponse": {"id": "c1", "name": "find_order", "response": response}}, view=DETAILS
    )
    (card,) = Tags(html).all("details")
    assert (card["data-response-to"], card["data-state"]) == ("c1", state)
    assert shown in html


def test_a_huge_result_is_truncated_with_a_note() -> None:
    html = event_html({"functionResponse": {"id": "c", "name": "read", "response": {"result": "x" * 10_000}}})
    assert "6000 more characters are not shown." in html
    assert len(html) < 6_000


def test_a_transfer_is_one_line_and_its_call_and_result_are_not_shown() -> None:
    assert (
        event_html({"functionCall": {"id": "t", "name": "transfer_to_agent", "args": {"agent_name": "x"}}})
        == ""
    )
    html = event_html(
        {"functionResponse": {"id": "t", "name": "transfer_to_agent", "response": {"result": None}}},
        actions={"transferToAgent": "billing"},
    )
    assert Tags(html).text.strip() == "Help desk handed over to Billing"


def test_a_transfer_that_was_refused_shows_its_result() -> None:
    html = event_html(
        {"functionResponse": {"id": "t", "name": "transfer_to_agent", "response": {"error": "Unknown agent"}}}
    )
    assert "Unknown agent" in html


def test_state_changes_are_shown_but_not_the_temporary_ones_and_the_apps() -> None:
    delta = {"order": "A-1", "user:likes": [1, "é"], "temp:secret": "s", "app:secret": 1}
    html = event_html(actions={"stateDelta": delta}, view=DETAILS)
    text = " ".join(Tags(html).text.split())
    assert "state: order = A-1" in text
    assert 'state: user:likes = [1, "é"]' in text
    assert "secret" not in text


def test_a_program_does_not_look_like_a_document() -> None:
    html = event_html(actions={"artifactDelta": {"bill-\u202efdp.exe": 0}})
    assert r">bill-\u202efdp.exe<" in html and '<small class="file-facts">EXE' in html


def test_artifacts_are_links_to_their_version_and_images_are_shown() -> None:
    html = event_html(actions={"artifactDelta": {"chart.png": 0, "user:a b/Größe.csv": 2, "x.svg": 0}})
    links = [tag["href"] for tag in Tags(html).all("a") if "download" in tag]
    assert links == [
        f"{FILES}chart.png?version=0",
        f"{FILES}user:a%20b/Gr%C3%B6%C3%9Fe.csv?version=2",
        f"{FILES}x.svg?version=0",
    ]
    (picture,) = Tags(html).all("img")
    assert picture == {"src": f"{FILES}chart.png?version=0", "alt": "chart.png", "loading": "lazy"}
    assert "version 3" in Tags(html).text


def test_pictures_of_an_agent_are_shown_where_it_has_put_them() -> None:
    def file(name: str, mime_type: str = "image/png") -> dict[str, Any]:
        return {"fileData": {"fileUri": f"artifact:{name}?version=0", "mimeType": mime_type}}

    names = ["a.png", "b.png", "c", "page.svg", "song.wav"]
    html = event_html(
        {"text": "Two:"},
        file("a.png"),
        file("b.png"),
        {"text": "And one:"},
        file("c"),
        file("page.svg", "image/svg+xml"),
        file("song.wav", "audio/wav"),
        author="sketch_artist",
        actions={"artifactDelta": dict.fromkeys(names, 0)},
    )
    assert html.index("Two:") < html.index("a.png") < html.index("b.png") < html.index("And one:")
    assert html.index("And one:") < html.index("/c?")
    pictures = Tags(html).all("img")
    assert [picture["src"] for picture in pictures] == [f"{FILES}{name}?version=0" for name in names[:3]]
    assert {picture["alt"] for picture in pictures} == {"Picture made by Sketch artist"}
    assert [tag["href"] for tag in Tags(html).all("a") if "download" in tag] == [
        f"{FILES}{name}?version=0" for name in names
    ]
    assert [tag["class"] for tag in Tags(html).all("ul")] == ["files gallery", "files gallery", "files"]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"errorCode": "X", "errorMessage": "The model does not answer."}, "The model does not answer."),
        ({"errorCode": "SAFETY"}, "Something went wrong. This message was not answered."),
    ],
)
def test_an_error_is_a_sentence(body: dict[str, Any], sentence: str) -> None:
    html = event_html(**body)
    assert sentence in Tags(html).text
    assert "data-error" in Tags(html).all("article")[0]


@pytest.mark.parametrize(
    ("parts", "fields", "is_empty"),
    [
        ([], {"finishReason": "STOP"}, True),
        ([{"text": " "}], {"finishReason": "STOP"}, True),
        ([{"text": "Hm", "thought": True}], {"finishReason": "STOP"}, True),
        ([{"text": "Yes"}], {"finishReason": "STOP"}, False),
        ([], {"finishReason": "SAFETY", "errorCode": "SAFETY"}, False),
        ([{"functionCall": {"id": "c1", "name": "f", "args": {}}}], {"finishReason": "STOP"}, False),
        ([], {"actions": {"stateDelta": {"a": 1}}}, False),
    ],
)
def test_an_answer_without_words_says_so(
    parts: list[dict[str, Any]], fields: dict[str, Any], is_empty: bool
) -> None:
    assert ("Help desk gave no answer." in event_html(*parts, author="help_desk", **fields)) is is_empty


@pytest.mark.parametrize(
    ("fields", "is_cut"),
    [
        ({"finishReason": "MAX_TOKENS"}, True),
        ({"finishReason": "MAX_TOKENS", "errorCode": "MAX_TOKENS"}, False),
        ({"finishReason": "STOP"}, False),
    ],
)
def test_a_cut_answer_says_so(fields: dict[str, Any], is_cut: bool) -> None:
    html = event_html({"text": "Once upon a"}, **fields)
    assert ("This answer was cut: it reached the model's limit." in Tags(html).text) is is_cut


def test_an_interrupted_answer_is_kept_and_marked() -> None:
    html = event_html({"text": "Once upon a"}, interrupted=True)
    assert "Once upon a" in html
    assert "Stopped" in Tags(html).text
    assert "error" not in html


@pytest.mark.parametrize(
    ("parts", "actions"),
    [
        ((), {}),
        (({"text": ""},), {}),
        (({"text": " \n"},), {"stateDelta": {"temp:a": 1}}),
        ((), {"escalate": True}),
    ],
)
def test_an_event_with_nothing_to_show_is_empty(
    parts: tuple[dict[str, Any], ...], actions: dict[str, Any]
) -> None:
    assert event_html(*parts, actions=actions) == ""


def test_a_question_looks_the_same_before_and_after_it_is_stored() -> None:
    types = {"name": {"type": "string"}, "at": {"type": "integer"}}
    payload = {"stock": 4, "fraud": "none"}

    def ask(step: int) -> str:
        args = {
            "payload": dict(list(payload.items())[::step]),
            "response_schema": {"properties": dict(list(types.items())[::step])},
        }
        call = {"id": "c-1", "name": "adk_request_input", "args": args}
        return event_html({"functionCall": call}, longRunningToolIds=["c-1"])

    assert ask(1) == ask(-1)


def test_code_that_ran_is_shown_with_its_output() -> None:
    html = event_html(
        {"executableCode": {"language": "PYTHON", "code": "print(1 < 2)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "True"}},
    )
    assert "print(1 &lt; 2)" in html
    assert html.index("print") < html.index("True")


def test_regions_that_scroll_are_named_in_the_language_of_the_reader() -> None:
    with translation.override("de"):
        html = render_markdown("| a |\n|---|\n| b |\n\n$$\nx\n$$\n")
    assert re.findall(r'role="region" aria-label="(.*?)"', html) == ["Tabelle", "Formel"]
