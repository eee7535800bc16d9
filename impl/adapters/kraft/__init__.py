"""`impl.kraft` as a system under test: its cores in a cluster whose time, network and disks a test decides about.

For `fencepost conform MODEL --impl kraft`, MODEL being one of the spec `kraft`. States and arguments of the spec come
in as plain objects; of the checker, only the interface is imported. `views` are what the two are compared by.
Leaves out: a broker that runs before it has any metadata.
"""

from impl.adapters.kraft.core import Core
from impl.adapters.kraft.system import SYSTEM, KraftUnderTest

__all__ = ["SYSTEM", "Core", "KraftUnderTest"]
