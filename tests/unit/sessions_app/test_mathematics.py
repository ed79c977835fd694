"""Formulas in the Markdown of a model (MathML Core)."""

from __future__ import annotations

import pytest

from sessions_app.rendering.markdown.mathematics import MAX_FORMULA_LENGTH, MAX_TOTAL_LENGTH
from sessions_app.rendering.markdown.render import render_markdown

SQUARE = "<mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math>"


@pytest.mark.parametrize(
    "text", ["$x^2$", r"\(x^2\)", "**$x^2$**", "- $x^2$", "($x^2$)", "a, $x^2$, and $5", "# $x^2$"]
)
def test_a_formula_in_a_line_is_mathml(text: str) -> None:
    assert f'<math display="inline">{SQUARE}' in render_markdown(text)


@pytest.mark.parametrize(
    "text",
    ["$O(n)$", "$n!$", "$2x$", "$2(n-1)$", "$-x/2$", "$P(A|B)$", "$[0, n]$", "$AB$", "$sin(x)$", "$α$",
     "the $n$th", "$x_i$s", "これは$x^2$です", "在$n$中", r"$\$5$", r"$\$5 + \$6 \\$", r"$10\%$",
     "$$n!$$", "$$\nO(n)\n$$", "|$O(n)$|\n|-|"],
)  # fmt: skip
def test_a_formula_needs_no_sign_of_its_own(text: str) -> None:
    html = render_markdown(text)
    assert html.count("<math") == 1 and "$" not in html.replace("<mi>$</mi>", "").replace("<mo>$</mo>", "")


@pytest.mark.parametrize(
    "text",
    [
        "$$x^2$$",
        "$$\nx^2\n$$",
        r"\[x^2\]",
        "So:\n\\[\nx^2\n\\]\nand on",
        "> $$\n> x^2\n> $$",
        "- a\n\n  $$\n  x^2\n  $$",
    ],
)
def test_a_formula_on_lines_of_its_own_scrolls_inside_itself(text: str) -> None:
    html = render_markdown(text)
    assert (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Formula"><math display="block">{SQUARE}'
        in html
    )


def test_lines_of_a_formula_are_no_markdown() -> None:
    html = render_markdown("$$\na\n- b\n= c\n$$")
    assert "<ul>" not in html and "<h2>" not in html and html.count("<math") == 1


@pytest.mark.parametrize("name", ["aligned", "align", "gathered", "cases", "pmatrix"])
def test_environments_of_several_lines_are_tables(name: str) -> None:
    html = render_markdown(f"$$\n\\begin{{{name}}}\na &= b \\\\\nc &= d\n\\end{{{name}}}\n$$")
    assert html.count("<mtr>") == 2


def test_columns_are_aligned_by_classes() -> None:
    html = render_markdown("$$\n\\begin{align}a &= b\\end{align}\n$$")
    assert '<mtd class="right"><mi>a</mi></mtd><mtd class="left">' in html


@pytest.mark.parametrize(
    "text",
    ["It costs $5 and $10.", "US$5 or US$7", "from $5 to 10$ each", "$HOME/bin:$PATH", "$a^2$b", "$ x^2 $", r"\$x^2\$",
     "kill $$ and $$", r"\[not a link\]", r"\[x^2\](http://a.b)", r"see \[1\]",
     "between $5$ and $7$", "5$-10$ or US$7/C$", "$5-$10", "$20k, $30k", "$5M/$10M", "from $5到10$", "从$5涨到$6。",
     "（$5）和（$6）", "$1,$2",
     "$5 (was US$)", "$5 + tax (about 6$)", "$5 now, 10$", "$5,000$", "**$5**/**$10**", "$PATH$", "$USER@$HOST:",
     "$$ $$", r"\( \)", "$$\nx^2\n\nnot closed", "    $$\n    x^2\n    $$"],
)  # fmt: skip
def test_a_text_that_only_looks_like_a_formula_stays_text(text: str) -> None:
    assert "<math" not in render_markdown(text)


def test_brackets_that_are_escaped_stay_brackets() -> None:
    assert "[not a link]" in render_markdown(r"\[not a link\] and text")
    assert "[1]" in render_markdown(r"see \[1\]")


def test_code_has_no_formulas() -> None:
    assert "<code>$x^2$</code>" in render_markdown("`$x^2$`")
    assert "$$\nx^2" in render_markdown("```\n$$\nx^2\n$$\n```")


@pytest.mark.parametrize(
    "source",
    [r"\frac{", "x_", r"\left( x", "{" * 900, r"\begin{foo}", "x^2" * (MAX_FORMULA_LENGTH // 3) + "^"],
)
def test_a_formula_that_cannot_be_read_is_shown_as_code(source: str) -> None:
    html = render_markdown(f"Before $${source}$$ behind")
    assert f"<code>{source}</code>" in html and "Before" in html and "behind" in html


def test_formulas_beyond_the_limit_of_a_text_are_shown_as_code() -> None:
    formula = "x^2 + 2x"
    html = render_markdown(f"${formula}$ " * (MAX_TOTAL_LENGTH // len(formula) + 10))
    assert (html.count("<math"), html.count(f"<code>{formula}</code>")) == (
        MAX_TOTAL_LENGTH // len(formula),
        10,
    )


@pytest.mark.parametrize(
    "source",
    [r"\href{javascript:alert(1)}{x}=1", r"\style{color:red}{x}=1", r"\class{toast}{x}=1",
     r"\text{<img src=x onerror=1>}", r"\text{</math><script>alert(1)</script>}", r"\color{red}x"],
)  # fmt: skip
def test_a_formula_brings_no_markup_of_its_own(source: str) -> None:
    html = render_markdown(f"${source}$")
    assert "<math" in html
    assert not any(danger in html for danger in ("href", "style=", "class", "<img", "<script", "mathcolor"))
