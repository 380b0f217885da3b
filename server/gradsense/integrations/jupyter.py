"""The IPython extension: the cell magic `%%gradsense`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from gradsense.integrations.cell import CellRun
from gradsense.integrations.watching import Unusable

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

NAME = "gradsense"
_HELP = """\
Run the cell under GradSense's probe and show what torch did.

The cell runs here, in this kernel, as it would without the magic: what it assigns is there afterwards, and what it
raises is raised. Loops that train are ended after a few passes. The report says, where an error comes from a backward,
which line walked, which saved, and which wrote; whether the graph grows from pass to pass, who holds it and where it
was stored; and which gradients came out wrong without an error. Loops of functions that earlier cells defined are seen
as well.
"""
_OPTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (
        ("--passes",),
        {"type": int, "default": 3, "metavar": "N", "help": "Passes of each loop that trains; 0 for all (default: 3)."},
    ),
    (
        ("--batches",),
        {"type": int, "default": 3, "metavar": "N", "help": "Batches of each data loader; 0 for all (default: 3)."},
    ),
    (
        ("--restore",),
        {
            "action": "store_true",
            "help": "Put parameters, buffers, gradients, optimizers, schedulers and random numbers back afterwards.",
        },
    ),
    (
        ("--no-anomaly", "--no-check-nan"),
        {
            "dest": "check_nan",
            "action": "store_false",
            "default": True,
            "help": "Do not stop at gradients that are not a number.",
        },
    ),
    (("--traceback",), {"action": "store_true", "help": "Show the tracebacks whole, with the lines of torch."}),
    (("-o",), {"dest": "name", "metavar": "NAME", "help": "Keep the report in a variable of that name."}),
)


def load(shell: InteractiveShell) -> None:
    """Makes the magic known."""
    arguments: Any = importlib.import_module("IPython.core.magic_arguments")
    magic: Any = importlib.import_module("IPython.core.magic")

    def gradsense(line: str, cell: str) -> Any:
        options = arguments.parse_argstring(declared, line)
        if options.passes < 0 or options.batches < 0:
            raise UsageError("%%gradsense: --passes and --batches take a number from 0")
        if options.name is not None and not options.name.isidentifier():
            raise UsageError(f"%%gradsense: {options.name} cannot be the name of a variable")
        try:
            return CellRun(shell, f"%%{NAME} {line}".rstrip(), cell).run(options)
        except Unusable as error:
            raise UsageError(f"%%gradsense: {error}") from None

    gradsense.__doc__ = _HELP
    declared: Any = gradsense
    for names, how in reversed(_OPTIONS):
        declared = arguments.argument(*names, **how)(declared)
    declared = arguments.magic_arguments()(declared)
    # A cell whose last line ends in a semicolon shows no value; IPython before 8.4 has no such mark.
    declared = getattr(magic, "output_can_be_silenced", lambda function: function)(declared)
    shell.register_magic_function(declared, "cell", NAME)


def unload(shell: InteractiveShell) -> None:
    """Forgets it."""
    shell.magics_manager.magics["cell"].pop(NAME, None)
