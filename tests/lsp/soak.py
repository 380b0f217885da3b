"""As many random edits as one likes, by two ways.

usage (in `tests`): python -m lsp.soak [--edits N] [--every N] [--seed N] [--memory N] [--wide]

First the analysis is asked directly: after every edit the document must be what was typed, and in each pause the
findings must be those of a fresh analysis. Then a server process gets edits over its standard streams, and must live
and hold no more memory after the last edit than it did after the first few hundred.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

from lsp.editor import REAL, VS_CODE, Editor, editing
from lsp.edits import Typist
from lsp.fuzzing import Trial, event_of, gathered
from lsp.wide import wide
from pairs.format import Program

# Edits that one program gets before the next one takes its place.
EDITS_EACH = 50
# After so many of the edits over the wire, memory is taken to have found its level.
WARM_UP = 0.25
# How much more it may hold at the end, in MB.
GROWTH = 10.0


def main() -> int:
    """Runs both; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--edits", type=int, default=10_000, help="asked directly")
    parser.add_argument("--every", type=int, default=4, metavar="N", help="a pause after N edits")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--memory", type=int, default=2_000, metavar="N", help="edits over the wire")
    parser.add_argument("--wide", action="store_true", help="only files whose functions hang on the module level")
    options = parser.parse_args()
    programs = wide() if options.wide else gathered()
    outer = 0.5 if options.wide else 0.1
    wrong = directly(programs, options.edits, options.every, options.seed, outer)
    if options.memory:
        wrong += asyncio.run(over_the_wire(programs, options.memory, options.seed))
    return 1 if wrong else 0


def directly(programs: list[Program], edits: int, every: int, seed: int, outer: float) -> int:
    """Edits one program after another; how many went wrong."""
    pick = random.Random(seed)
    began, wrong, compared, done = time.monotonic(), 0, 0, 0
    while done < edits:
        program = pick.choice(programs)
        number = seed * 1_000_003 + done
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(program.files, Path(folder), number, outer)
            try:
                for step in range(min(EDITS_EACH, edits - done)):
                    trial.step()
                    if step % every == every - 1:
                        trial.pause()
            except Exception as error:
                wrong += 1
                print(f"seed {number}, {program.id}: {type(error).__name__}: {error}", flush=True)
            compared += trial.compared
        done += EDITS_EACH
    print(
        f"{min(done, edits):,} edits, {compared:,} comparisons with a fresh analysis, {wrong} wrong, "
        f"{time.monotonic() - began:.0f} s",
        flush=True,
    )
    return wrong


async def over_the_wire(programs: list[Program], edits: int, seed: int) -> int:
    """Edits one file in a server; whether it forgets what it should, as 0 or 1."""
    pick = random.Random(seed)
    sizes: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "train.py"
        async with editing(VS_CODE, REAL, folder=path.parent) as editor:
            text = "\n\n".join(pick.choice(programs).main for _ in range(4))
            editor.open(path.as_uri(), text)
            typist = Typist(text, seed, broken=0.1)
            for number, change in zip(range(edits), typist.edits(), strict=False):
                before = editor.texts[path.as_uri()]
                editor.edit(path.as_uri(), (event_of(before, change).range, change.text))
                await asyncio.sleep(0.01)
                if number % 20 == 0:
                    await editor.looked_at(path.as_uri())
                    sizes.append(_megabytes(editor))
            await editor.looked_at(path.as_uri())
            sizes.append(_megabytes(editor))
    warm = max(sizes[: max(1, int(len(sizes) * WARM_UP))])
    print(f"{edits:,} edits over the wire: {warm:.1f} MB after the first, {sizes[-1]:.1f} MB after the last")
    return int(sizes[-1] > warm + GROWTH)


def _megabytes(editor: Editor) -> float:
    sys.path.insert(0, str(Path(__file__).parents[2] / "server" / "tools"))
    from benching.clients import megabytes

    return sum(megabytes(editor.pid))


if __name__ == "__main__":
    sys.exit(main())
