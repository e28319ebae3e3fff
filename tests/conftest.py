"""What all tests share: properties are about values, not about times, so that a loaded machine fails none of them."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
