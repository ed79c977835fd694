"""List of the admin in any order, whose rows are not counted. One row more tells whether a page follows."""

from __future__ import annotations

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.core.paginator import Paginator
from django.http import HttpRequest

MAX_PAGES = 1_000_000


class UncountedChangeList(ChangeList):
    """Page of a list whose rows are not counted. Actions apply to rows of this page only.

    Attributes:
        next_page: query string of the next page; empty on the last one.
        first_page: query string of the first page; empty on the first page itself.
    """

    def get_results(self, request: HttpRequest) -> None:
        """Load the rows of the page that the query string names.

        Raises:
            IncorrectLookupParameters: there is no such page.
        """
        if not 1 <= self.page_num <= MAX_PAGES:
            raise IncorrectLookupParameters
        begin, end = (self.page_num - 1) * self.list_per_page, self.page_num * self.list_per_page
        shown = self.queryset[begin:end]
        if begin and not shown:
            raise IncorrectLookupParameters
        has_next = self.queryset[end : end + 1].exists()
        self.next_page = self.get_query_string({PAGE_VAR: self.page_num + 1}) if has_next else ""
        self.first_page = self.get_query_string(remove=[PAGE_VAR]) if begin else ""
        self.result_list = shown
        self.result_count = self.full_result_count = len(shown)
        self.show_full_result_count = self.can_show_all = self.multi_page = False
        self.show_admin_actions = bool(shown)
        self.paginator = Paginator(shown, self.list_per_page)
