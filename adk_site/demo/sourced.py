"""An answer with sources and search suggestions, in the form in which Gemini sends them after a search."""

from runtime import types

PASSAGES = [
    ("Markdown is from 2004: John Gruber wanted a text that is read as it is, and becomes HTML.", (0,)),
    (" **CommonMark** says since 2014, with more than 600 examples, what each sign means.", (1,)),
    (" GitHub's form of it adds tables, task lists and `~~strikethrough~~`.", (2, 1)),
    ("\n\nThe demo model has not searched: this answer and its sources are part of its script.", ()),
]
"""Pieces of the answer, with the indexes of the pages that each is based on."""
PAGES = [
    ("Daring Fireball: Markdown", "https://daringfireball.net/projects/markdown/"),
    ("CommonMark", "https://commonmark.org/"),
    ("GitHub Flavored Markdown Spec", "https://github.github.com/gfm/"),
]
SUGGESTIONS = """
<style>
.suggestions { display: flex; gap: 8px; align-items: center; overflow-x: auto; padding: 8px 0; font: 14px sans-serif; }
.suggestions a { flex: none; border: 1px solid #747775; border-radius: 16px; padding: 6px 14px; color: #1f1f1f;
  text-decoration: none; }
@media (prefers-color-scheme: dark) { .suggestions a { color: #e3e3e3; } }
</style>
<div class="suggestions">
<a href="https://www.google.com/search?q=commonmark+spec">commonmark spec</a>
<a href="https://www.google.com/search?q=john+gruber+markdown+2004">john gruber markdown 2004</a>
<a href="https://www.google.com/search?q=github+flavored+markdown">github flavored markdown</a>
</div>
"""
SOURCED = "".join(text for text, _ in PASSAGES)


def grounding() -> types.GroundingMetadata:
    """Return the sources of the answer `SOURCED`."""
    supports = []
    end = 0
    for text, pages in PASSAGES:
        start = end
        end += len(text.encode())
        if pages:
            segment = types.Segment(start_index=start, end_index=end, text=text)
            supports.append(types.GroundingSupport(segment=segment, grounding_chunk_indices=list(pages)))
    return types.GroundingMetadata(
        grounding_chunks=[
            types.GroundingChunk(web=types.GroundingChunkWeb(title=title, uri=uri)) for title, uri in PAGES
        ],
        grounding_supports=supports,
        search_entry_point=types.SearchEntryPoint(rendered_content=SUGGESTIONS),
    )
