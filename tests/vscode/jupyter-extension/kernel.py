"""A kernel behind standard input and output: code comes in, outputs go out, a line of JSON each."""

from __future__ import annotations

import json
import queue
import sys
import threading
from typing import Any

from jupyter_client.manager import start_new_kernel

SECONDS = 120


def tell(value: dict[str, Any]) -> None:
    print(json.dumps(value), flush=True)


def outputs(message: dict[str, Any]) -> None:
    content = message["content"]
    if message["msg_type"] in ("display_data", "execute_result"):
        as_text = {kind: data if isinstance(data, str) else json.dumps(data) for kind, data in content["data"].items()}
        tell({"data": as_text})
    elif message["msg_type"] == "stream":
        tell({"data": {f"application/vnd.code.notebook.{content['name']}": content["text"]}})


def main() -> None:
    manager, client = start_new_kernel(kernel_name="python3")
    orders: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            order = json.loads(line)
            if "interrupt" in order:
                manager.interrupt_kernel()
            else:
                orders.put(order)
        orders.put(None)

    threading.Thread(target=listen, daemon=True).start()
    try:
        while (order := orders.get()) is not None:
            reply = client.execute_interactive(
                order["code"], store_history=order["history"], output_hook=outputs, timeout=SECONDS
            )
            content = reply["content"]
            if content["status"] == "error":
                tell({"error": f"{content['ename']}: {content['evalue']}"})
            else:
                tell({"done": True})
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


main()
