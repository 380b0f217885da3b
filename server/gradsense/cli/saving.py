"""Writes mended files so that a crash, a full disk or a stop leaves either the old file or the new one."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile


def save(path: str, data: bytes) -> None:
    """Replaces a file's content; its permissions stay, and a link goes on pointing where it points.

    Raises:
        OSError: it cannot be written; the old content is still there.
    """
    path = os.path.realpath(path)
    if not os.access(path, os.W_OK):
        raise PermissionError(None, "it is write-protected", path)
    handle, temporary = tempfile.mkstemp(prefix=".gradsense-", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
