"""Models as files of named arrays: plain ``.npz``, or ``.safetensors``, which other programs read too.

Nothing in such a file is executed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..files import Damaged, archived, check_target, parse_json, parsing, read_arrays, read_file, write_beside
from .flat import BUFFERS, FlatModel

SUFFIXES = (".npz", ".safetensors")
FORMAT = "fedtheory model, version 1"
_PREFIX = "state."
_KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1", "U8": "|u1",
          "BOOL": "|b1"}  # fmt: skip
_HALF = "BF16"
_LENGTH = 8  # bytes that state the header's length
_LONGEST = 100_000_000  # bytes of a header, by the format


def save_model(model: nn.Module | Mapping[str, Any], path: str | Path) -> None:
    """Write a module's ``state_dict``, or the arrays of one, to an ``.npz`` or a ``.safetensors`` file, whole or not at
    all.

    Raises:
        ValueError: another suffix, a place that cannot be written to, or an array that is not of numbers.

    >>> import tempfile
    >>> layer, other = nn.Linear(3, 2), nn.Linear(3, 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(layer, f"{folder}/layer.safetensors")
    ...     bool((load_model(f"{folder}/layer.safetensors", other).weight == layer.weight).all())
    True
    """
    target = check_target(path, *SUFFIXES)
    state = model.state_dict() if isinstance(model, nn.Module) else model
    arrays = {name: _numbers(name, value) for name, value in state.items()}
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.suffix == ".npz":
        about = np.frombuffer(json.dumps({"format": FORMAT}).encode(), dtype=np.uint8)
        write_beside(target, archived(about=about, **{_PREFIX + name: value for name, value in arrays.items()}))
    else:
        write_beside(target, _as_safetensors(arrays))


def read_model(path: str | Path) -> dict[str, np.ndarray]:
    """Read the arrays of a file that ``save_model``, or another program, has written, by name.

    Raises:
        ValueError: there is no file, it is damaged, or holds something else.
    """
    if Path(path).suffix not in SUFFIXES:
        raise ValueError(f"path = {str(path)!r}: allowed is a name that ends in {' or '.join(SUFFIXES)}")
    with parsing(path, "no model can be read from it"):
        try:
            if Path(path).suffix == ".safetensors":
                return _of_safetensors(read_file(path), path)
            arrays = read_arrays(path)
        except (Damaged, FileNotFoundError) as error:
            raise ValueError(error.wrong if isinstance(error, Damaged) else "no such file") from None
        about = parse_json(arrays.pop("about").tobytes(), path)
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {about['format']!r}, allowed is {FORMAT!r}")
    return {name.removeprefix(_PREFIX): value for name, value in arrays.items() if name.startswith(_PREFIX)}


def load_model(path: str | Path, into: nn.Module) -> nn.Module:
    """Load a file that ``save_model``, or another program, has written into a module, and return the module.

    Raises:
        ValueError: there is no file, it is damaged, or of another architecture: the first array that differs is named,
            and the module stays as it was.
    """
    state = read_model(path)
    check_architecture(str(path), {name: value.shape for name, value in state.items()}, into.state_dict(), into)
    into.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in state.items()})
    return into


def load_parameters(what: str, x: np.ndarray, shapes: Mapping[str, tuple[int, ...]], into: nn.Module) -> nn.Module:
    """Load a flat model x (D,), whose named parts have these shapes, into a module, and return the module. Parameters
    that are not trained, and buffers that were kept, stay the module's.

    Raises:
        ValueError: the module has another architecture.
    """
    there = dict(into.named_parameters())
    here: dict[str, Tensor] = {name: value for name, value in there.items() if value.requires_grad}
    here |= {name: value for name, value in into.named_buffers() if name in shapes}
    check_architecture(what, shapes, here, into)
    pieces = torch.from_numpy(np.array(x)).split([math.prod(shape) for shape in shapes.values()])
    with torch.no_grad():
        for (name, shape), piece in zip(shapes.items(), pieces, strict=True):
            here[name].copy_(piece.view(shape))
    return into


def shapes_like(what: str, x: np.ndarray, module: nn.Module) -> dict[str, tuple[int, ...]]:
    """The shapes of a module's parts, for a flat model x (D,) that is known by its numbers alone; they have to be as
    many.

    Raises:
        ValueError: the module has more or fewer.
    """
    for buffers in BUFFERS[1:]:
        model = FlatModel(module, buffers=buffers)
        if model.dimension == len(x):
            return {name: tuple(shape) for name, shape in model.shapes.items()}
    raise ValueError(
        f"{what} holds a model of another architecture: of {len(x)} numbers, {type(module).__name__} has "
        f"{model.dimension}; allowed is the architecture that was saved"
    )


def check_architecture(
    what: str, there: Mapping[str, tuple[int, ...]], here: Mapping[str, Tensor], module: nn.Module
) -> None:
    """Refuse a model whose arrays have other names or shapes than a module's."""

    def shown(shape: tuple[int, ...] | None) -> str:
        return "missing" if shape is None else str(tuple(shape))

    for name in (*there, *(name for name in here if name not in there)):
        theirs, ours = there.get(name), tuple(here[name].shape) if name in here else None
        if theirs is None or ours is None or tuple(theirs) != ours:
            raise ValueError(
                f"{what} holds a model of another architecture: {name} is {shown(theirs)} there and {shown(ours)} in "
                f"{type(module).__name__}; allowed is the architecture that was saved"
            )


def _numbers(name: str, value: Any) -> np.ndarray:
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        value = (value.float() if value.dtype == torch.bfloat16 else value).numpy()
    found = np.asarray(value)
    found = found.astype(found.dtype.newbyteorder("<"), copy=False)
    if found.dtype.str not in _KINDS.values():
        raise ValueError(
            f"{name} is {found.dtype}: allowed are floats of 16 to 64 bits, "
            "integers of 8 to 64 bits (of those without signs, 8 alone), and bool"
        )
    return found


def _as_safetensors(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The format: the header's length, the header in JSON, the arrays one after the other.

    Source: Hugging Face, "safetensors", README, section "Format".
    """
    words = {kind: word for word, kind in _KINDS.items()}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    ends = np.cumsum([0, *(value.nbytes for value in arrays.values())]).tolist()
    for (name, value), begin, end in zip(arrays.items(), ends, ends[1:], strict=False):
        header[name] = {"dtype": words[value.dtype.str], "shape": list(value.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % _LENGTH)
    content = b"".join(np.ascontiguousarray(value).tobytes() for value in arrays.values())
    return len(text).to_bytes(_LENGTH, "little") + text + content


def _of_safetensors(content: bytes, path: str | Path) -> dict[str, np.ndarray]:
    length = int.from_bytes(content[:_LENGTH], "little")
    if len(content) < _LENGTH or length > min(len(content) - _LENGTH, _LONGEST):
        raise ValueError(f"its header states {length} bytes, the file has {len(content)}")
    header = parse_json(content[_LENGTH : _LENGTH + length], path)
    body, found, at = memoryview(content)[_LENGTH + length :], {}, 0
    header.pop("__metadata__", None)
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        word, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        kind = np.dtype("<u2" if word == _HALF else _KINDS[word])
        if not all(type(n) is int and n >= 0 for n in (begin, end, *shape)) or begin != at or end > len(body):
            raise ValueError(f"{name} lies at {begin} to {end}: allowed are arrays one after the other")
        if math.prod(shape) * kind.itemsize != end - begin:
            raise ValueError(f"{name} states {word} {shape} and has {end - begin} bytes")
        values, at = np.frombuffer(body[begin:end], kind), end
        if word == _HALF:  # the upper half of a number in single precision
            values = (values.astype(np.uint32) << 16).view(np.float32)
        found[name] = values.reshape(shape)
    if at != len(body):
        raise ValueError(f"{len(body) - at} bytes after the last array")
    return found
