"""Number of torch threads of an audit.

The order of a sum depends on the number of threads, and with it the last bit of a number. The number of threads is
therefore part of the identity of a run, and a resumed run keeps it whatever its number of workers. A small model always
gets one thread: more make it no faster, and its numbers are then the same on every machine with the same processor and
libraries, with any number of workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from regard.models.ask.flops import flops_per_position
from regard.models.ask.torch_module import torch_module
from regard.protocols import Model
from regard.store.run_writer import RunWriter

SMALL = 4e6
"""Operations per position of a forward pass up to which a second thread gains nothing (see `flops`)."""


def threads_for(model: Model, workers: int) -> int:
    """Return one thread for a small model, else this process's share of the processor."""
    if torch_module.supports(model) and flops_per_position(torch_module(model)) <= SMALL:
        return 1
    processes = max(1, workers) if model.spec is not None else 1
    return max(1, torch.get_num_threads() // processes)


@contextmanager
def recorded_threads(writer: RunWriter, model: Model, workers: int) -> Iterator[int]:
    """Set torch to the number of threads that the run began with, or begins with now, inside the block."""
    number = int(str(writer.settle("threads", threads_for(model, workers))))
    with torch_threads(number):
        yield number


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Set the number of torch threads inside the block, and restore it afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
