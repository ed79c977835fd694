"""`python -m tests.adk_api`: write the page that compares the public names."""

from tests.adk_api.table import PAGE, page

PAGE.write_text(page())
