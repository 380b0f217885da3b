"""A language server with the fake analysis: `python fake_server.py [SECONDS]`, the time limit of one analysis."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gradsense.lsp.main import serve

if __name__ == "__main__":
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    sys.exit(serve("lsp.fake_engine:FakeEngine", time_limit=limit))
