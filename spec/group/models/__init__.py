"""The models of the consumer coordinator, in the order in which `fencepost list` shows them."""

from spec.group.models import rebalances

MODELS = [*rebalances.MODELS]
