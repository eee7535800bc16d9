"""Requests about what the spec leaves out, held against what the document says of them, wherever a controller may be.

Cluster ids, features, racks and configs; ids and names of topics; error codes of what operators ask; timers; standbys;
and whether a snapshot gives back all that it was written of. Each is tried on a copy of the controller, in every state
of the cluster that the exploration reaches, as far as it looks different to an operator.
"""

from impl.adapters.kraft.unmodelled.checks import held, key

__all__ = ["held", "key"]
