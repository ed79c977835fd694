"""List without a count of its rows: a count would read the whole table."""

from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.core.paginator import Paginator
from django.http import HttpRequest

MAX_PAGES = 1_000_000


class UncountedChangeList(ChangeList):
    """Page of a list without a count of its rows. Actions apply only to rows of this page.

    Attributes:
        next_page: query string of the next page; empty on the last page.
        first_page: query string of the first page; empty on the first page itself.
    """

    def get_results(self, request: HttpRequest) -> None:
        """Load the rows of the requested page.

        Raises:
            IncorrectLookupParameters: there is no such page.
        """
        if not 1 <= self.page_num <= MAX_PAGES:
            raise IncorrectLookupParameters
        begin = (self.page_num - 1) * self.list_per_page
        end = self.page_num * self.list_per_page
        shown = self.queryset[begin:end]
        if begin and not shown:
            raise IncorrectLookupParameters
        next_page = self.page_num + 1 if self.queryset[end : end + 1].exists() else None
        self.show_rows(shown, next_page, is_first=not begin)

    def show_rows(self, shown: Any, next_position: int | str | None, *, is_first: bool) -> None:
        """Show these rows on the page. The next page begins at a position; None for the last page."""
        self.next_page = ""
        if next_position is not None:
            self.next_page = self.get_query_string({PAGE_VAR: next_position})
        self.first_page = "" if is_first else self.get_query_string(remove=[PAGE_VAR])
        self.result_list = shown
        self.result_count = self.full_result_count = len(shown)
        self.show_full_result_count = self.can_show_all = self.multi_page = False
        self.show_admin_actions = bool(shown)
        self.paginator = Paginator(shown, self.list_per_page)
