"""Local SGD on quadratics: linear in where it starts and in the noise, so that little has to be done for each step.

What K steps of sizes eta_k add to x, where the gradient at x is g and the steps' noise xi_k, is y_K of

    y_0 = 0,    y_{k+1} = y_k - eta_k (H y_k + proximal y_k + g + xi_k),

with one product of H and one sum a step: the noise of all steps is drawn at once, and points stay in the rows in which
products are made. Without noise, y_K is one matrix times x - c, which is computed once; that is how all noiseless runs
of several steps of one size are computed, whatever shares their batch, unless clients are kept by their slopes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..extras import torch
from ..randomness import in_memory
from .federation import ONE_SIDED, ConvexFederation, Footprint, Pairs
from .hessians import TILE, Common, Dense, Diagonal, Part, joined
from .local_training import LocalTraining

if TYPE_CHECKING:
    from torch import Tensor

    from ..loops.diagonal_sgd import Signs
    from .quadratic import Quadratic

CACHE = 2**21
"""Bytes of the points of the pairs that train together, or of the noise of all their steps: so what is worked on stays
in a processor's cache."""

MORE = 8
"""Factor of the cache with dense Hessians: of many pairs a client, parts with few clients would make small products."""


def linear_footprint(fed: Quadratic, training: LocalTraining, x: Tensor) -> Footprint:
    """Return the memory of a round: of a pair, its points, and the noise of all its steps with the keys of it.

    Dense Hessians also have empty rows in tiles, and what a matrix times x - c takes.
    """
    noisy = 0 if fed.deterministic else training.most_steps
    pair = (8 + 4 * noisy) * x.nbytes + noisy * 64
    full = fed.products.matrices.nbytes if isinstance(fed.products, Common | Dense) else 0
    empty = TILE * fed.clients * pair if isinstance(fed.products, Dense) else 0
    cache = CACHE * (MORE if isinstance(fed.products, Dense) else 1)
    return Footprint(4 * full + empty, pair, 0, max(TILE, cache // (x.nbytes * max(1, noisy))))


def linear_change(fed: Quadratic, start: Tensor, pairs: Pairs, training: LocalTraining) -> Tensor:
    """Compute y_K of every pair that starts at ``start`` (P, D), with the draws of the steps ``pairs.step``, ..."""
    if coordinates_apart(fed) and in_memory(start):
        assert isinstance(fed.products, Diagonal)
        return _entrywise(fed, fed.products, start, pairs, training)
    shifted = start
    if not fed.tilted:
        shifted = fed.centred.index_select(0, pairs.client)
        torch.sub(start, shifted, out=shifted)
    at_once = fed.deterministic and not fed.tilted and not isinstance(training.lr, tuple)
    if at_once and training.steps > 1:
        return fed.products.moved(training.sizes, training.proximal).times(shifted, pairs)
    return fed.products.back(_stepped(fed, start, shifted, pairs, training), pairs)


def coordinates_apart(fed: Quadratic) -> bool:
    """Whether coordinates do not meet, and noise does not depend on x."""
    plain = not fed.tilted and (fed.deterministic or fed.noise != ONE_SIDED)
    return plain and isinstance(fed.products, Diagonal)


def _entrywise(fed: Quadratic, products: Diagonal, start: Tensor, pairs: Pairs, training: LocalTraining) -> Tensor:
    """Compute the change with diagonal Hessians and noise that does not depend on x."""
    from ..loops.diagonal_sgd import entrywise_change, entrywise_product

    diagonals, centres = closed_form(fed, products, training), fed.centred
    if diagonals is not None:
        return entrywise_product(start, pairs.client, diagonals, centres)
    noise = drawn_noise(fed, pairs, training, start.dtype)
    sizes, proximal = training.sizes, training.proximal
    return entrywise_change(start, pairs.client, products.diagonals, centres, noise, sizes, proximal)


def closed_form(fed: Quadratic, products: Diagonal, training: LocalTraining) -> Tensor | None:
    """Return the factors that turn x - c into y_K - c, (M, D) or (1, D), if all steps are made at once."""
    if not fed.deterministic or training.steps == 1 or isinstance(training.lr, tuple):
        return None
    return products.moved(training.sizes, training.proximal).diagonals


def drawn_noise(fed: Quadratic, pairs: Pairs, training: LocalTraining, dtype: torch.dtype) -> Tensor | Signs | None:
    """Draw the noise of all steps, or return how it is drawn."""
    from ..loops.diagonal_sgd import Signs

    if fed.deterministic:
        return None
    keys = fed.step_keys(pairs, training.steps)
    if not fed.has_fair_signs or type(fed).noise_of is not ConvexFederation.noise_of:
        return fed.noise_of(keys, dtype)
    return Signs(keys, fed.gradient_noise / fed.dimension**0.5)


def _stepped(fed: Quadratic, start: Tensor, shifted: Tensor, pairs: Pairs, training: LocalTraining) -> Tensor:
    """y_K in rows, some of them after the other."""
    products, noise = fed.products, None
    rows = products.rows(shifted, pairs)
    slopes = products.rows(fed.slopes.index_select(0, pairs.client), pairs) if fed.tilted else None
    if not fed.deterministic:
        noise = fed.noise_of(products.rows(fed.step_keys(pairs, training.steps), pairs, dim=1), rows.dtype)
    points = products.rows(start, pairs) if fed.noise == ONE_SIDED and noise is not None else None
    changes = []
    for at, part in products.parts(pairs):
        gradient = part.product(rows[at])
        if slopes is not None:
            gradient = gradient + slopes[at]
        own = None if noise is None else noise[:, at]
        changes.append(_change(fed, part, gradient, own, None if points is None else points[at], training))
    return joined(changes, rows)


def _change(
    fed: Quadratic, part: Part, gradient: Tensor, noise: Tensor | None, points: Tensor | None, training: LocalTraining
) -> Tensor:
    """y_K in the rows of a part, from the gradients g there; ``noise`` is written over. With ``points``, what is felt
    of it depends on where steps begin."""
    forces = gradient if noise is None or points is not None else noise.add_(gradient)
    change: Tensor | None = None
    for step, size in enumerate(training.sizes):
        force = forces if forces.dim() == 2 else forces[step]
        if noise is not None and points is not None:
            force = force + fed.felt(noise[step], points if change is None else points + change)
        if change is None:
            change = force * -size
            continue
        moved = part.stepped(change, size).add_(force, alpha=-size)
        change = moved.add_(change, alpha=-size * training.proximal) if training.proximal > 0 else moved
    assert change is not None
    return change
