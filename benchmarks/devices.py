"""The device that a benchmark measures, and what a call takes there."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from rates import process_seconds

from fedtheory.federations.devices import device_name, find_device


def device_of(text: str) -> torch.device:
    """The device of that name, as an argument's type: argparse prints what is wrong."""
    try:
        return find_device(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_device(parser: argparse.ArgumentParser, default: str = "cpu") -> None:
    """Let the parser take ``--device``. By default it is the CPU where tables that are kept are of one."""
    parser.add_argument("--device", type=device_of, default=default, help=f"cpu, cuda, cuda:1, auto; {default}")


def timer(device: torch.device) -> Callable[[Callable[[], object]], float]:
    """What measures the seconds of a call: of a CPU those of the process, of another device those of the clock."""
    return process_seconds if device.type == "cpu" else by_the_clock(device)


def by_the_clock(device: torch.device) -> Callable[[Callable[[], object]], float]:
    """What measures the seconds until the device has done all that a call asks it for."""

    def seconds(call: Callable[[], object]) -> float:
        began = _idle(device)
        call()
        return _idle(device) - began

    return seconds


def _idle(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


__all__ = ["add_device", "by_the_clock", "device_name", "timer"]
