"""Writes the commit into what is built, and the experiment files into a wheel; all else stands in pyproject.toml."""

import sys
from pathlib import Path
from shutil import copytree

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from fedtheory.provenance import COMMIT, commit_of_checkout  # noqa: E402


def write_commit(package: Path) -> None:
    """The commit of these sources: as they say themselves, where they were built from a checkout, else as git says."""
    own = HERE / "fedtheory" / COMMIT
    text = own.read_text(encoding="ascii").strip() if own.is_file() else commit_of_checkout(HERE / "fedtheory")
    if text:
        (package / COMMIT).write_text(text + "\n", encoding="ascii")


class Build(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            package = Path(self.build_lib) / "fedtheory"
            write_commit(package)
            copytree(HERE / "experiments", package / "experiment_files", dirs_exist_ok=True)


class Sources(sdist):
    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        write_commit(Path(base_dir) / "fedtheory")


setup(cmdclass={"build_py": Build, "sdist": Sources})
