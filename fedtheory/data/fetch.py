"""Fetches Fashion-MNIST: ``python -m fedtheory.data.fetch``, which ``make data`` runs.

It tries what is already there, then the system's package, then a download with checksums. It prints one line on the
outcome and exits with status 0 whatever happened: without the data, the tests and experiments on them are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import fashion_mnist

_PACKAGE = "dataset-fashion-mnist"
_HOME = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
_MD5 = {
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
}
_TIMEOUT = 300  # seconds for one command


def main() -> None:
    """Make Fashion-MNIST available if that is possible, and print one line on the outcome."""
    print(f"Fashion-MNIST: {_outcome()}")


def _outcome() -> str:
    if fashion_mnist.available():
        return "already available."
    reasons = []
    for attempt in (_install_package, _download):
        try:
            how = attempt()
            if fashion_mnist.available():
                return how
            reasons.append(f"{how}, but the files are not where they should be")
        except Exception as error:  # whatever it is, the caller goes on without the data
            reasons.append(" ".join(f"{type(error).__name__}: {error}".split())[:200])
    return f"not available ({'; '.join(reasons)}). What needs it is skipped."


def _install_package() -> str:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise RuntimeError(f"package {_PACKAGE} not tried, that takes root and apt-get")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", _PACKAGE]):
        subprocess.run(["apt-get", "-qq", *command], check=True, capture_output=True, env=environment, timeout=_TIMEOUT)
    return f"installed the package {_PACKAGE}."


def _download() -> str:
    """Download all four files beside the target folder, check them, and only then rename them into it."""
    import pooch

    pooch.get_logger().setLevel("ERROR")
    target = fashion_mnist.own_folder()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fashion-mnist-", dir=target.parent) as beside:
        for name, md5 in _MD5.items():
            pooch.retrieve(_HOME + name, known_hash=f"md5:{md5}", fname=name, path=beside)
        target.mkdir(exist_ok=True)
        for name in _MD5:
            os.replace(Path(beside, name), target / name)
    return f"downloaded to {target}."


if __name__ == "__main__":
    main()
