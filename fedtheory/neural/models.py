"""The papers' networks, as ordinary ``nn.Module``s.

Images go in as (B, channels, height, width), characters as (B, time) int64; class scores come out, (B, classes). What a
paper leaves open is an argument, and its docstring says where the default is from. "The authors' code" is the public
code of the paper named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor, nn

FEDAU_DATASETS = {
    # name: (channels, pixels a side, hidden layers, classes, dropout)
    "fashion-mnist": (1, 28, (128,), 10, 0.0),
    "svhn": (3, 32, (128,), 10, 0.0),
    "cifar-10": (3, 32, (256, 64), 10, 0.0),
    "cifar-100": (3, 32, (512, 256), 100, 0.2),
    "cinic-10": (3, 32, (512, 256), 10, 0.2),
}
"""The data sets that FedAU's authors have a network for."""


class Layers(nn.Sequential):
    """Layers one after the other, with a way of their own to draw initial parameters.

    ``reset_parameters()`` draws all layers' parameters as PyTorch does, then calls ``initialiser`` on the layers that
    ``initialised`` counts (from the front, among those with weights).
    """

    def __init__(
        self, *layers: nn.Module, initialiser: Callable[[nn.Module], None] | None = None, initialised: int | None = None
    ) -> None:
        super().__init__(*layers)
        self.initialiser, self.initialised = initialiser, initialised
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters of all layers afresh, by the initialiser where there is one."""
        weighted = [each for each in self.modules() if callable(getattr(each, "reset_parameters", None))][1:]
        for layer in weighted:
            layer.reset_parameters()  # type: ignore[operator]
        if self.initialiser is not None:
            for layer in weighted[: self.initialised]:
                self.initialiser(layer)


class LastOutput(nn.Module):
    """The last output of an LSTM over a sequence: (B, time, inputs) to (B, hidden)."""

    def __init__(self, inputs: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, layers, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.lstm(x)[0][:, -1]


class Residual(nn.Module):
    """branch(x) + shortcut(x), without a ReLU after it."""

    def __init__(self, branch: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.branch, self.shortcut = branch, shortcut

    def forward(self, x: Tensor) -> Tensor:
        return self.branch(x) + self.shortcut(x)


def multinomial_logistic(features: int = 784, classes: int = 10, initial: str = "uniform") -> nn.Module:
    """Multinomial logistic regression with a bias: ``features * classes + classes`` parameters, 7,850 for MNIST.

    SAFARI (appendix B.1) runs it on MNIST and says nothing of where it starts: "uniform" is PyTorch's draw, in
    +-1 / sqrt(features); "zero" is the origin.

    >>> parameters(multinomial_logistic())
    7850
    """
    if initial not in ("uniform", "zero"):
        raise ValueError(f"initial = {initial!r}: allowed is 'uniform' or 'zero'")
    zero = {"initialiser": _zero} if initial == "zero" else {}
    return Layers(nn.Flatten(), nn.Linear(features, classes), **zero)  # type: ignore[arg-type]


def small_cnn(classes: int = 10) -> nn.Module:
    """A network of 80,602 parameters (10 classes) for grey images of 28 x 28 pixels, where many runs have to be cheap.

    3 x 3 convolutions of 16 and 32 channels, each padded, ReLU and 2 x 2 max-pool; dense layers of 48 and ``classes``.

    >>> parameters(small_cnn())
    80602
    """
    return Layers(*_block(1, 16), *_block(16, 32), nn.Flatten(), *_dense(32 * 7 * 7, (48,), classes))


def fast_fashion_cnn(classes: int = 10, dropout: Sequence[float] = (0.25, 0.5)) -> nn.Module:
    """FAST's network for Fashion-MNIST: 1,199,882 parameters with 10 classes.

    FAST (appendix B.1.1 a) says: two convolutions, ReLU, max-pooling, two dense layers, and leaves the sizes to its
    code, which has 3 x 3 convolutions of 32 and 64 channels without padding, one 2 x 2 pool after both, dropout .25,
    128 hidden units, dropout .5, and 62 outputs. Those are the defaults, but ``classes``: 62 outputs on data of ten
    classes give 1,206,590 parameters. The paper does not mention the dropout; ``dropout=(0, 0)`` leaves it out.

    >>> parameters(fast_fashion_cnn()), parameters(fast_fashion_cnn(classes=62))
    (1199882, 1206590)
    """
    return Layers(*_emnist_layers(classes, dropout))


def fast_cifar_cnn(classes: int = 10, dropout: float = 0.25) -> nn.Module:
    """FAST's network for CIFAR-10: 541,094 parameters.

    FAST (appendix B.1.1 b) says: three convolutions with ReLU and max-pooling, two dense layers. Sizes are those of the
    authors' code: padded 3 x 3 convolutions of 16, 32 and 64 channels, a 2 x 2 pool after each, 500 hidden units, and
    dropout .25 before each dense layer, which the paper does not mention.

    >>> parameters(fast_cifar_cnn())
    541094
    """
    layers = [*_block(3, 16), *_block(16, 32), *_block(32, 64), nn.Flatten()]
    return Layers(*layers, *_dense(64 * 4 * 4, (500,), classes, (dropout, dropout)))


def fast_char_lstm(
    vocabulary: int = 80, embedding: int = 8, hidden: int = 256, layers: int = 2, dropout: float = 0.5
) -> nn.Module:
    """FAST's character LSTM for Shakespeare: 819,920 parameters; scores of the next character.

    FAST (appendix B.1.1 c) says: an embedding, a two-layer LSTM, dropout, a linear layer. Sizes are those of the
    authors' code: 80 characters in 8 dimensions, 2 x 256 units, dropout .5 on the outputs, of which the last one is
    read.

    >>> parameters(fast_char_lstm())
    819920
    """
    read = LastOutput(embedding, hidden, layers)
    return Layers(nn.Embedding(vocabulary, embedding), read, *_dropout(dropout), nn.Linear(hidden, vocabulary))


def safari_cifar_cnn(classes: int = 10, size: int = 32) -> nn.Module:
    """SAFARI's network for CIFAR-10: 1,756,426 parameters; 1,068,298 with ``size=24``.

    SAFARI (appendix B.1) refers to McMahan et al., "Communication-efficient learning of deep networks from
    decentralized data", 2017, who take the one of TensorFlow's tutorial (two convolutions, two dense layers, a linear
    one, about 10^6 parameters) on images cropped to 24 x 24. Sizes are those of that tutorial: 5 x 5 convolutions
    of 64 channels, 3 x 3 max-pools of stride 2, 384 and 192 hidden units. Its local response normalisation is left out,
    and images are whole by default, since SAFARI mentions neither.

    >>> parameters(safari_cifar_cnn()), parameters(safari_cifar_cnn(size=24))
    (1756426, 1068298)
    """
    if size < 4 or size % 4:
        raise ValueError(f"size = {size}: allowed is a positive multiple of 4")
    layers: list[nn.Module] = []
    for channels in (3, 64):
        layers += [nn.Conv2d(channels, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    return Layers(*layers, nn.Flatten(), *_dense(64 * (size // 4) ** 2, (384, 192), classes))


def fedau_cnn(dataset: str, initialise_last: bool = False) -> nn.Module:
    """FedAU's network for one of ``FEDAU_DATASETS``.

    FedAU (appendix C.3) says: two 3 x 3 convolutions of 32 channels, each with ReLU and max-pool; two dense layers for
    SVHN, three for the others; dropout .2 before each of them for CIFAR-100 and CINIC-10; Kaiming initialisation.
    Dense sizes are those of the authors' code (SVHN: 128; CIFAR-10: 256, 64; CIFAR-100 and CINIC-10: 512, 256), which
    also has a network for Fashion-MNIST, like SVHN's. In it all layers but the last one get Kaiming's normal law
    and biases 0; ``initialise_last=True`` treats the last one alike, as the paper's words would have it.

    Raises:
        ValueError: for another data set.

    >>> [parameters(fedau_cnn(name)) for name in FEDAU_DATASETS]
    [211690, 273706, 551786, 1216260, 1193130]
    """
    if dataset not in FEDAU_DATASETS:
        raise ValueError(f"dataset = {dataset!r}: allowed is one of {', '.join(FEDAU_DATASETS)}")
    channels, pixels, hidden, classes, dropout = FEDAU_DATASETS[dataset]
    convolutions = [*_block(channels, 32), *_block(32, 32), nn.Flatten()]
    dense = _dense(32 * (pixels // 4) ** 2, hidden, classes, (dropout,) * (len(hidden) + 1))
    weighted = 2 + len(hidden) + initialise_last
    return Layers(*convolutions, *dense, initialiser=_kaiming, initialised=weighted)


def flics_emnist_cnn(classes: int = 10, dropout: Sequence[float] = (0.25, 0.5)) -> nn.Module:
    """FLICS's network for EMNIST: 1,199,882 parameters with 10 classes.

    FLICS (section VI.A) speaks of a convolutional network on labels 0 to 9 and gives no architecture in the text at
    hand. The default is the EMNIST network of Reddi et al., "Adaptive federated optimization", 2021 (its reference [7],
    whose CIFAR-100 set-up it follows): 3 x 3 convolutions of 32 and 64 channels, pool, dropout .25, 128 hidden units,
    dropout .5.

    >>> parameters(flics_emnist_cnn())
    1199882
    """
    return Layers(*_emnist_layers(classes, dropout))


def resnet18_group_norm(classes: int = 100, groups: int = 2, stem: str = "cifar") -> nn.Module:
    """ResNet-18 with group norm in place of batch norm, which FLICS (section VI.A) trains on CIFAR-100: 11,220,132
    parameters with the stem "cifar", 11,227,812 with "imagenet".

    FLICS follows Reddi et al. (2021) and leaves open the number of groups (2 there) and the stem. "cifar" is a 3 x 3
    convolution of stride 1; "imagenet" that of He et al., "Deep residual learning for image recognition", 2016: 7 x 7
    of stride 2, then a 3 x 3 max-pool of stride 2.

    >>> parameters(resnet18_group_norm())
    11220132
    """
    if stem not in ("cifar", "imagenet"):
        raise ValueError(f"stem = {stem!r}: allowed is 'cifar' or 'imagenet'")
    if groups < 1 or 64 % groups:
        raise ValueError(f"groups = {groups}: allowed is a divisor of 64, the channels of the first layer")
    first = nn.Conv2d(3, 64, 7, 2, 3, bias=False) if stem == "imagenet" else nn.Conv2d(3, 64, 3, 1, 1, bias=False)
    layers: list[nn.Module] = [first, nn.GroupNorm(groups, 64), nn.ReLU()]
    layers += [nn.MaxPool2d(3, 2, 1)] if stem == "imagenet" else []
    inputs = 64
    for channels in (64, 128, 256, 512):
        for stride in (1 if channels == 64 else 2, 1):
            layers += [_residual(inputs, channels, stride, groups), nn.ReLU()]
            inputs = channels
    return Layers(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


def parameters(module: nn.Module) -> int:
    """Count the parameters of ``module``."""
    return sum(each.numel() for each in module.parameters())


def _block(inputs: int, outputs: int) -> list[nn.Module]:
    """A padded 3 x 3 convolution, ReLU, 2 x 2 max-pool."""
    return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]


def _dropout(probability: float) -> list[nn.Module]:
    return [nn.Dropout(probability)] if probability > 0 else []


def _dense(inputs: int, hidden: Sequence[int], classes: int, dropout: Sequence[float] = ()) -> list[nn.Module]:
    """Dense layers with ReLU between them; ``dropout`` before each where it is given."""
    before = iter((*dropout, *(0.0,) * (len(hidden) + 1)))
    layers: list[nn.Module] = []
    for units in hidden:
        layers += [*_dropout(next(before)), nn.Linear(inputs, units), nn.ReLU()]
        inputs = units
    return [*layers, *_dropout(next(before)), nn.Linear(inputs, classes)]


def _emnist_layers(classes: int, dropout: Sequence[float]) -> list[nn.Module]:
    if len(dropout) != 2:
        raise ValueError(f"dropout = {dropout!r}: allowed are two probabilities, before each dense layer")
    layers = [nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2)]
    return [*layers, nn.Flatten(), *_dense(64 * 12 * 12, (128,), classes, dropout)]


def _residual(inputs: int, outputs: int, stride: int, groups: int) -> nn.Module:
    branch = nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
        nn.GroupNorm(groups, outputs),
        nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
        nn.GroupNorm(groups, outputs),
    )
    if stride == 1 and inputs == outputs:
        return Residual(branch, nn.Identity())
    projection = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
    return Residual(branch, nn.Sequential(projection, nn.GroupNorm(groups, outputs)))


def _kaiming(layer: nn.Module) -> None:
    """Kaiming's normal law for weights (He et al., "Delving deep into rectifiers", 2015), biases 0."""
    if isinstance(layer, nn.Conv2d | nn.Linear):
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


def _zero(layer: nn.Module) -> None:
    for parameter in layer.parameters(recurse=False):
        nn.init.zeros_(parameter)
