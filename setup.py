"""What pyproject.toml cannot say: a built package has the experiment files and the papers' tables in it."""

from pathlib import Path
from shutil import copytree

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithExperiments(build_py):
    """Copies ``experiments`` into the package; an editable installation reads the folder beside it."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            into = Path(self.build_lib) / "fedtheory" / "experiment_files"
            copytree("experiments", into, dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithExperiments})
