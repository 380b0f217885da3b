"""What a rank of a distributed run needs on a machine that is not the one the program was written for."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from typing import Any


def install(torch: Any, device: str) -> None:
    """Has `init_process_group` take gloo where the program asks for nccl and there are not as many GPUs as ranks."""
    distributed: Any = importlib.import_module("torch.distributed")
    if not distributed.is_available():
        return
    init: Any = distributed.init_process_group
    ranks = int(os.environ["LOCAL_WORLD_SIZE"])
    has_gpus = device != "cpu" and torch.cuda.is_available() and torch.cuda.device_count() >= ranks

    @functools.wraps(init)
    def init_process_group(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
        wanted = str(backend or "").lower()
        if not has_gpus and "nccl" in wanted:
            sys.stderr.write("gradsense: gloo stands in for nccl, since there is no GPU for each rank\n")
            backend = "gloo"
        elif not wanted and has_gpus:
            backend = "nccl"
        elif not wanted:
            backend = "gloo"
        return init(backend, *args, **kwargs)

    inner: Any = importlib.import_module("torch.distributed.distributed_c10d")
    for module in (distributed, inner):
        module.init_process_group = init_process_group
