"""A file behind an https or http URL, read by ranges, with only Python's standard library.

Users and passwords come from ~/.netrc, and are sent over https only; a proxy from the usual environment. A server that
does not support ranges (it answers 200 instead of 206) is read once from the beginning to the end, and the file is not
seekable.
"""

import http.client
import io
import netrc
import os
import urllib.error
import urllib.request
from base64 import b64encode
from contextlib import suppress
from email.message import Message
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from kafkascope_parsers.errors import CaptureError, UsageError
from kafkascope_parsers.versions import parse_number

TIMEOUT_SECONDS = 30
_ATTEMPTS = 3
"""Number of attempts for a range before it fails."""
_MOST_BYTES = 2**63 - 1
_PARTIAL, _CHANGED, _NO_SUCH_RANGE = 206, 412, 416
_WHY = {
    401: "the server wants a user and a password: put them into ~/.netrc",
    403: "access is denied",
    404: "no such file",
    410: "no such file",
    _CHANGED: "the file was changed while it was read",
}


def without_secrets(url: str) -> str:
    """Returns the URL without its query and fragment: those of signed URLs are credentials."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class HttpFile(io.RawIOBase):
    """A file behind a URL. size_bytes: the size according to the server; None where it sends none.

    Opening raises UsageError where the URL contains a password or the server cannot be reached, CaptureError where
    there is no such file or no access; reading raises CaptureError.
    """

    def __init__(self, url: str) -> None:
        self._url, self._name = url, without_secrets(url)
        self._at = 0
        self._whole: Any = None
        self._tag: str | None = None
        self.size_bytes: int | None = None
        if "@" in urlsplit(url).netloc:
            raise UsageError(f"{self._name}: put user and password into ~/.netrc, not into the URL")
        try:
            self._begin()
        except urllib.error.HTTPError as error:
            raise self._refused(error) from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise UsageError(f"{self._name}: the server cannot be reached: {_reason(error)}") from error

    def _begin(self) -> None:
        """Requests the first byte to learn the size, the entity tag, and whether the server supports ranges."""
        try:
            response = self._request("bytes=0-0")
        except urllib.error.HTTPError as error:
            if error.code != _NO_SUCH_RANGE:
                raise
            self.size_bytes = 0  # an empty file has no first byte
            return
        if response.status == _PARTIAL:
            self.size_bytes = _size_of_range(response.headers)
            tag = response.headers.get("ETag")
            self._tag = tag if tag and not tag.startswith("W/") else None
            response.close()
            if self.size_bytes is None:
                raise CaptureError("the server does not say how large the file is", name=self._name)
        else:
            length = response.headers.get("Content-Length")
            self.size_bytes = parse_number(length, _MOST_BYTES) if length else None
            self._whole = response

    def readable(self) -> bool:
        """Always true."""
        return True

    def seekable(self) -> bool:
        """Whether the server supports ranges."""
        return self._whole is None

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves to a byte, from which the next read requests data."""
        if not self.seekable():
            raise io.UnsupportedOperation("the server gives no ranges")
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size_bytes or 0}[whence]
        self._at = base + offset
        return self._at

    def readinto(self, target: Any) -> int:
        """Fills the target, or as much of it as the rest of the file provides."""
        view = memoryview(target).cast("B")
        n = self._from_whole(view) if self._whole is not None else self._from_ranges(view)
        self._at += n
        return n

    def close(self) -> None:
        """Closes a response that is read from its beginning on, if there is one."""
        if not self.closed and self._whole is not None:
            self._whole.close()
        super().close()

    def _from_whole(self, view: memoryview) -> int:
        try:
            n = int(self._whole.readinto(view))
        except (OSError, http.client.HTTPException) as error:
            raise CaptureError(f"reading failed: {_reason(error)}", name=self._name) from error
        if not n and len(view) and self.size_bytes is not None and self._at < self.size_bytes:
            raise CaptureError("the server closed the connection before the end of the file", name=self._name)
        return n

    def _from_ranges(self, view: memoryview) -> int:
        wanted = max(0, min(len(view), (self.size_bytes or 0) - self._at))
        done, failure = 0, "the server closed the connection before the end of the file"
        for _ in range(_ATTEMPTS):
            if done == wanted:
                break
            try:
                with self._request(f"bytes={self._at + done}-{self._at + wanted - 1}") as response:
                    if response.status != _PARTIAL:
                        raise CaptureError("the server no longer gives ranges of the file", name=self._name)
                    while done < wanted and (n := response.readinto(view[done:wanted])):
                        done += n
            except urllib.error.HTTPError as error:
                if error.code < http.client.INTERNAL_SERVER_ERROR:
                    raise self._refused(error) from error
                failure = str(error)
            except (OSError, http.client.HTTPException) as error:
                failure = f"reading failed: {_reason(error)}"
        if done < wanted:
            raise CaptureError(failure, name=self._name)
        return done

    def _request(self, byte_range: str) -> Any:
        request = urllib.request.Request(self._url, headers={"Range": byte_range})
        if self._tag:
            request.add_header("If-Match", self._tag)
        login = _login(self._url)
        if login:
            request.add_unredirected_header("Authorization", login)
        return urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)

    def _refused(self, error: urllib.error.HTTPError) -> CaptureError:
        why = _WHY.get(error.code, f"the server answers {error.code} {error.reason}")
        error.close()
        return CaptureError(why, name=self._name)


def _size_of_range(headers: Message) -> int | None:
    """Returns the size of the whole file, from `Content-Range: bytes 0-0/12345`."""
    total = headers.get("Content-Range", "").rpartition("/")[2]
    return parse_number(total, _MOST_BYTES)


def _login(url: str) -> str | None:
    """Returns the header of basic authentication, where ~/.netrc (or the file in NETRC) has the host."""
    parts = urlsplit(url)
    if parts.scheme.lower() != "https" or not parts.hostname:
        return None
    with suppress(OSError, netrc.NetrcParseError):
        found = netrc.netrc(os.environ.get("NETRC")).authenticators(parts.hostname)
        if found is not None:
            return "Basic " + b64encode(f"{found[0]}:{found[2]}".encode()).decode()
    return None


def _reason(error: Exception) -> str:
    """Returns why the network failed, in a few words."""
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    text = inner.strerror if isinstance(inner, OSError) and inner.strerror else str(inner)
    return text or type(inner).__name__
