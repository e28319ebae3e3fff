"""Servers of real clients: the rules of simulations where people train, with a log and a state on disk.

`Server` needs no framework: it says whom to ask, takes what they answer, and keeps the model. It computes with numpy,
by the very objects of ``fedtheory.algorithms`` that simulations run. ``deploy.flower`` puts it behind Flower,
``deploy.nvflare`` behind NVFlare.
"""

from ..lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
