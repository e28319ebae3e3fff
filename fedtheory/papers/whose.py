"""Former name of what ``registry`` says of claims, for files that import it from here."""

from .registry import algorithm_of as algorithm_of
from .registry import subject_of as subject_of
