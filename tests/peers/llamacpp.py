"""A real llama.cpp server, which speaks chat completions, responses and messages, with a real small model."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.peers import model
from tests.peers.recorder import Recorded, recording

CONTEXT = 2048
"""The model's window in tokens, for each of its two slots."""

TEMPLATE = Path(__file__).with_name("tools.jinja")
"""Teaches the server what a call of this model looks like, since the model's own template has none."""

_SERVE = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 2 * int(sys.argv[2])
params.n_parallel = 2
params.cpuparams.n_threads = 1
params.use_jinja = True
params.chat_template = open(sys.argv[3]).read()
params.verbosity = 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


class LlamaCpp(Recorded):
    """The running server behind a recorder."""

    patience = 60


@contextmanager
def running_llamacpp() -> Iterator[LlamaCpp]:
    """The server on a free port of this machine, for as long as the block lasts."""
    command = [sys.executable, "-c", _SERVE, str(model.model_file()), str(CONTEXT), str(TEMPLATE)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            url = process.stdout.readline().strip()
            if not url:
                raise RuntimeError("the llama.cpp server did not start")
            with recording(url) as recorder:
                yield LlamaCpp(recorder)
        finally:
            process.terminate()
