"""Measures the ops table from the installed torch and writes it as JSON.

usage: python server/tools/measure_ops.py --out server/gradsense/machine/ops/ops.json
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import torch
from opsmeasure.encode import table_of, text_of
from opsmeasure.gather import gather
from opsmeasure.report import summary


def main() -> None:
    """Measures, writes the file, prints a summary."""
    parser = argparse.ArgumentParser(description="Measures what every torch op saves for backward.")
    parser.add_argument("--out", type=Path, help="the file to write; without it, the rows are printed")
    parser.add_argument("--samples", type=int, default=16, help="how many of op_db's samples an entry to take")
    parser.add_argument("--only", default="", help="table keys, separated by commas")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    began = time.monotonic()
    gathered = gather(options.samples, {name for name in options.only.split(",") if name})
    table = table_of(gathered)
    text = text_of(table)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        print(text)
    print(summary(gathered, table, len(text), time.monotonic() - began))


if __name__ == "__main__":
    main()
