"""The models of KIP-39, in the order in which `fencepost list` shows them; the first is the design's default."""

from spec.pinning.models import alternatives, liveness, requests, sessions

MODELS = [*requests.MODELS, *sessions.MODELS, *alternatives.MODELS, *liveness.MODELS]
