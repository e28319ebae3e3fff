"""Networks with flat parameters: the papers' models, gradients of many pairs at once, local training."""

from ..extras import needed

needed("torch")  # and say which extra has it, before anything below fails

from .batches import Samples, Visits
from .flat import FlatModel
from .gradients import gradients
from .local_solver import SGD, Adam
from .local_update import Trained, local_update
from .model_evaluation import evaluate
from .models import (
    fast_char_lstm,
    fast_cifar_cnn,
    fast_fashion_cnn,
    fedau_cnn,
    flics_emnist_cnn,
    multinomial_logistic,
    resnet18_group_norm,
    safari_cifar_cnn,
    small_cnn,
)
from .packed import Batches
from .training_workers import WorkerError, Workers

__all__ = [
    "SGD",
    "Adam",
    "Batches",
    "FlatModel",
    "Samples",
    "Trained",
    "Visits",
    "WorkerError",
    "Workers",
    "evaluate",
    "fast_char_lstm",
    "fast_cifar_cnn",
    "fast_fashion_cnn",
    "fedau_cnn",
    "flics_emnist_cnn",
    "gradients",
    "local_update",
    "multinomial_logistic",
    "resnet18_group_norm",
    "safari_cifar_cnn",
    "small_cnn",
]
