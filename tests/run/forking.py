"""A Python that starts at once though it has torch in it, for tests of what a run tells and not of how it is started.

It stands in an environment of its own; whatever looks for the active environment finds it there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# Isolated, so that it takes some milliseconds: what is asked for is run elsewhere.
ASKING = """\
#!{python} -IS
import json, os, socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect({socket!r})
asked = {{"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "python": {path!r}}}
message = json.dumps(asked).encode()
socket.send_fds(client, [len(message).to_bytes(8, "big")], [0, 1, 2])
client.sendall(message)
status = int.from_bytes(client.recv(4) or b"\\xff\\xff\\xff\\xf7", "big", signed=True)
if status < 0:
    os.kill(os.getpid(), -status)
os._exit(status)
"""


@pytest.fixture(scope="session")
def forking_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the environment; where processes do not fork, that of the tests."""
    if not hasattr(os, "fork"):
        yield Path(sys.prefix)
        return
    folder = tmp_path_factory.mktemp("forking")
    python = folder / "bin" / "python"
    python.parent.mkdir()
    socket = str(folder / "socket")
    python.write_text(ASKING.format(python=sys.executable, socket=socket, path=str(python)), encoding="utf-8")
    python.chmod(0o700)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, str(Path(__file__).with_name("forkserver.py")), socket]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**environment, "OMP_NUM_THREADS": "1"}
    ) as server:
        assert server.stdout is not None and server.stdin is not None
        assert server.stdout.readline() == b"ready\n"
        yield folder
        server.stdin.close()
