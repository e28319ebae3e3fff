"""What all tests share: properties are about values, not about times, so that a loaded machine fails none of them; and
the collector of cycles looks seldom at the many expressions and tests that stay, which takes a fourteenth of the time
otherwise."""

import gc
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def _seldom_collected() -> Iterator[None]:
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    yield
    gc.set_threshold(*before)
    gc.unfreeze()
