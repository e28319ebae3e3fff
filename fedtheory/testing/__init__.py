"""For authors of participation processes and weight rules: test what you plug in.

`check_weight_estimator` needs nothing but numpy and scipy. The hypothesis strategies (`participation_arrays`,
`participation_processes`, `federations`, `weight_rules`, `quantity_values`, `values_of`, `claim_values`) need
hypothesis, which comes with the extra ``testing``. Members load on first use.
"""

from ..lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
