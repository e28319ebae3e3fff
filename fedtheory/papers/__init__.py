"""The papers' statements as data, one folder a paper and one file a theorem; and the registry of all papers.

A paper is found as a folder here that defines ``PAPER``, under the entry points ``fedtheory.papers`` of an installed
package, or in a file or folder elsewhere (``load``). One that cannot be imported keeps no other from being used: see
``failures``.
"""

from .loading import added as added
from .loading import check_own_names as check_own_names
from .loading import load as load
from .paper import Paper as Paper
from .paper import PaperError as PaperError
from .registry import GROUP as GROUP
from .registry import all_claims as all_claims
from .registry import built_in as built_in
from .registry import claim as claim
from .registry import editions as editions
from .registry import explained as explained
from .registry import failures as failures
from .registry import instance_path as instance_path
from .registry import load_evaluators as load_evaluators
from .registry import paper as paper
from .registry import papers as papers
