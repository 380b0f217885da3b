"""How messages travel between the server and its worker: a length, then a pickle.

Both ends are our own processes joined by pipes that nobody else can write to, so unpickling is safe here.
"""

from __future__ import annotations

import pickle
import struct
from typing import IO, Any

_HEADER = struct.Struct(">Q")


def send(stream: IO[bytes], message: object) -> None:
    """Writes one message.

    Raises:
        OSError: the other end is gone.
    """
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_HEADER.pack(len(body)))
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Reads one message.

    Raises:
        EOFError: the other end is gone.
    """
    (length,) = _HEADER.unpack(_read(stream, _HEADER.size))
    return pickle.loads(_read(stream, length))


def _read(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data
