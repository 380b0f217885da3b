"""A kernel of Jupyter, as tests run code in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

SECONDS = 120


class Kernel:
    """A kernel, and what it is asked for."""

    def __init__(self) -> None:
        self.manager, self.client = start_new_kernel(kernel_name="python3")

    def execute(self, code: str, *, history: bool = True) -> tuple[list[dict[str, Any]], str]:
        """The outputs of a piece of code, by kind, and its text."""
        shown: list[dict[str, Any]] = []
        text: list[str] = []

        def hear(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] in ("display_data", "execute_result"):
                shown.append(content["data"])
            elif message["msg_type"] == "stream":
                text.append(content["text"])
            elif message["msg_type"] == "error":
                text.append(f"{content['ename']}: {content['evalue']}")

        self.client.execute_interactive(code, store_history=history, output_hook=hear, timeout=SECONDS)
        return shown, "".join(text)

    def failure(self, code: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The reply to a piece of code that raises, and the error that is shown."""
        errors: list[dict[str, Any]] = []

        def hear(message: dict[str, Any]) -> None:
            if message["msg_type"] == "error":
                errors.append(message["content"])

        reply = self.client.execute_interactive(code, output_hook=hear, timeout=SECONDS)
        content: dict[str, Any] = reply["content"]
        return content, errors[0]

    def ask(self, expression: str) -> Any:
        """The value of an expression."""
        return json.loads(self.execute(f"import json; print(json.dumps({expression}))")[1])

    def end(self) -> None:
        """Ends it."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def started() -> Iterator[Kernel]:
    """A kernel for all tests of a file."""
    kernel = Kernel()
    try:
        yield kernel
    finally:
        kernel.end()


@pytest.fixture
def bare_kernel(started: Kernel) -> Kernel:
    """That kernel, without what an earlier test left in it."""
    started.execute("%reset -f")
    return started
