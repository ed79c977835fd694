"""Files of conversations in an object store with the protocol of Amazon S3, by django-storages.

    MEDIA_BACKEND=sessions_app.store.object_storage.ObjectStorage
    MEDIA_OPTIONS='{"bucket_name": "files", "endpoint_url": "https://s3.example.org"}'

A person's download is an address of the store that the site signs after it has checked the access. The store keeps the
SHA-256 of each object: the site compares it with that of the row before it signs, without reading the object.
"""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, BinaryIO

from django.core.exceptions import ImproperlyConfigured

from runtime.errors import how_to_install
from sessions_app.errors import FilesUnavailableError

try:
    from boto3.s3.transfer import TransferConfig
    from botocore.client import Config
    from botocore.exceptions import BotoCoreError, ClientError
    from storages.backends.s3 import S3File, S3Storage
    from storages.utils import clean_name, safe_join
except ImportError as error:  # an extra: requirements-s3.txt
    raise ImproperlyConfigured(f"ObjectStorage needs django-storages: {how_to_install('s3')}") from error

SIGNED_SECONDS = 60
"""Life of a signed address. A download that has begun goes on."""
MEMORY_BYTES = 1_000_000
"""Bytes of a file that is read to keep in memory; a larger file goes to a temporary file."""
_LARGEST_PUT = 5 * 1024**3
"""Limit of the protocol for an object that is stored by one request."""
_NO_OBJECT = ("404", "NoSuchKey")
"""Codes of the protocol for an object that is not there: without and with a body of the response."""


class ObjectFile(S3File):  # type: ignore[misc]  # the package has no types
    """A file in the bucket, read whole when it is opened, also after it was closed."""

    def open(self, mode: str | None = None) -> "ObjectFile":
        try:
            with _converted_errors():
                super().open(mode)
        except OSError:
            self.close()  # A part of the file that has arrived must not be read as the whole.
            raise
        return self


class ObjectStorage(S3Storage):  # type: ignore[misc]  # the package has no types
    """Storage in a bucket. Its errors are `FileNotFoundError`, and `FilesUnavailableError` with the cause."""

    def __init__(self, **options: Any) -> None:
        """Take the options of django-storages.

        Raises:
            ImproperlyConfigured: there is no `bucket_name`, or an option is unknown.
        """
        super().__init__(**options)
        if not self.bucket_name:
            raise ImproperlyConfigured("MEDIA_OPTIONS of ObjectStorage has no 'bucket_name'.")

    def get_default_settings(self) -> dict[str, Any]:
        own = {
            # As in a file system, a name that exists is not written again: a signed root must not be replaced.
            "file_overwrite": False,
            "max_memory_size": MEMORY_BYTES,
            # An object in several parts has a checksum of their checksums. So each is stored by one request.
            "transfer_config": TransferConfig(multipart_threshold=_LARGEST_PUT, use_threads=False),
            "object_parameters": {"ChecksumAlgorithm": "SHA256"},
            "querystring_expire": SIGNED_SECONDS,
            # The defaults are a minute and four attempts: an answer would wait as long for a store that is down.
            "client_config": Config(
                signature_version="s3v4",
                connect_timeout=3,
                read_timeout=10,
                retries={"total_max_attempts": 2, "mode": "standard"},
            ),
        }
        return {**super().get_default_settings(), **own}

    def signed_url(self, name: str, sha256: str, headers: dict[str, str]) -> str | None:
        """Return an address that gives the object to everybody for `SIGNED_SECONDS`; None if it would not be signed.

        Args:
            sha256: SHA-256 of the object; None is returned unless the store has it for this object.
            headers: `Content-Type` and `Content-Disposition` of the response.

        Raises:
            FileNotFoundError: the bucket has no such object.
            FilesUnavailableError: the store does not answer, or refuses the request.
        """
        # With these options of django-storages the address would have no end.
        if self.custom_domain or not self.querystring_auth:
            return None
        with _converted_errors():
            head = self.connection.meta.client.head_object(
                Bucket=self.bucket_name, Key=self._key(name), ChecksumMode="ENABLED"
            )
        if head.get("ChecksumSHA256") != base64.b64encode(bytes.fromhex(sha256)).decode():
            return None
        parameters = {f"Response{header.replace('-', '')}": value for header, value in headers.items()}
        url: str = self.url(name, parameters)
        return url

    def check_access(self) -> None:
        """Ask the store for the bucket.

        Raises:
            OSError: the store does not answer, there is no such bucket, or the keys may not use the bucket.
        """
        with _converted_errors():
            self.connection.meta.client.head_bucket(Bucket=self.bucket_name)

    def _key(self, name: str) -> str:
        key: str = safe_join(self.location, clean_name(name))
        return key

    def _open(self, name: str, mode: str = "rb") -> ObjectFile:
        with _converted_errors():
            opened = ObjectFile(self._key(name), mode, self)
        if "r" in mode:
            opened.open()
        return opened

    def _save(self, name: str, content: BinaryIO) -> str:
        with _converted_errors():
            saved: str = super()._save(name, content)
        return saved

    def delete(self, name: str) -> None:
        with _converted_errors():
            super().delete(name)

    def exists(self, name: str) -> bool:
        with _converted_errors():
            exists: bool = super().exists(name)
        return exists

    def listdir(self, name: str) -> tuple[list[str], list[str]]:
        with _converted_errors():
            listed: tuple[list[str], list[str]] = super().listdir(name)
        return listed

    def get_modified_time(self, name: str) -> datetime:
        with _converted_errors():
            modified: datetime = super().get_modified_time(name)
        return modified


@contextmanager
def _converted_errors() -> Iterator[None]:
    """Raise the errors of `ObjectStorage` in place of botocore's."""
    try:
        yield
    except ClientError as error:
        if error.response["Error"]["Code"] in _NO_OBJECT:
            raise FileNotFoundError(str(error)) from error
        raise FilesUnavailableError from error
    except BotoCoreError as error:
        raise FilesUnavailableError from error
