"""Sizes of files that are too large, in words."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django import Settings

from sessions_app.errors import TooLargeError
from sessions_app.store.uploads import check_upload


@pytest.mark.parametrize(
    ("limit", "size", "words"),
    [
        (3, 4, "4 bytes; the limit is 3 bytes."),
        (1024, 1025, "1.1 KB; the limit is 1.0 KB."),
        (2048, 4096, "4.0 KB; the limit is 2.0 KB."),
        (10 * 1024**2, 10 * 1024**2 + 1, "10.1 MB; the limit is 10.0 MB."),
    ],
)
def test_a_file_that_is_too_large_reads_larger_than_the_limit(
    settings: Settings, limit: int, size: int, words: str
) -> None:
    settings.ADK = {"upload_bytes": limit}
    with pytest.raises(TooLargeError) as refusal:
        check_upload(SimpleUploadedFile("a.txt", bytes(size)))
    assert str(refusal.value).replace("\xa0", " ").endswith(words)
