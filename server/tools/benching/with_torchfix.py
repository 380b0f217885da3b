"""TorchFix on the same texts, in whichever interpreter has it; also the program that such an interpreter runs."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Sequence


def times(python: str, texts: Sequence[str]) -> list[float] | None:
    """The seconds that TorchFix takes for each text, or None where the interpreter is missing or does not have it.

    Args:
        python: an interpreter.
        texts: programs.
    """
    command, data = [python, __file__], json.dumps(list(texts))
    try:
        done = subprocess.run(command, input=data, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return json.loads(done.stdout) if done.returncode == 0 else None


def main() -> None:
    """Reads the texts from standard input and writes the seconds of each."""
    try:
        from torchfix.torchfix import TorchChecker
    except ImportError:
        sys.exit(3)
    texts = json.load(sys.stdin)
    list(TorchChecker(None, ["import torch\n"]).run())
    seconds = []
    for text in texts:
        lines = text.splitlines(keepends=True)
        started = time.process_time()
        # It gives up on some programs; the time it took to do so counts.
        with contextlib.suppress(Exception):
            list(TorchChecker(None, lines).run())
        seconds.append(time.process_time() - started)
    json.dump(seconds, sys.stdout)


if __name__ == "__main__":
    main()
