"""Tests for authors of weight estimators, participation processes and algorithms.

    test_mine = fedtheory.testing.as_test(MyEstimator())

`check_weight_estimator` (numpy and scipy only), `check_participation` and `check_algorithm` raise an error that names
the first property that fails. `compare_weight_estimators` compares estimators with FedAU's. The hypothesis strategies
(`participation_arrays`, `participation_processes`, `federations`, `run_settings`, `weight_rules`, `selection_problems`,
`quantity_values`, `values_of`, `claim_values`) need hypothesis, which comes with the extra ``testing``. Members load on
first use. ``docs/testing.md`` lists what is checked, and how far.
"""

from ..lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
