"""Former name of ``dispatch``, for files that import it from here."""

from .dispatch import algorithm_of as algorithm_of
from .dispatch import subject_of as subject_of
