"""What each request needs of who asks, as in Kafka (ControllerApis, KafkaApis).

That is of the cluster, or of each topic it names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from impl.kraft.image import Image
from impl.kraft.security.acls import CLUSTER_NAME, Operation, ResourceType
from impl.kraft.security.authorizer import Authorizer
from impl.kraft.server.connections import Caller

OF_CLUSTER: Mapping[int, Operation] = {
    **dict.fromkeys((1, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82), Operation.CLUSTER_ACTION),
    **dict.fromkeys((30, 31, 43, 45, 51, 57, 64), Operation.ALTER),
    **dict.fromkeys((29, 46, 50, 55), Operation.DESCRIBE),
    48: Operation.DESCRIBE_CONFIGS,
    49: Operation.ALTER_CONFIGS,
}  # fmt: skip
"""By key, what is needed of the cluster for any of it; 1 is a fetch of the metadata log. Others are looked at topic by
topic, or need nothing."""


class Rights(NamedTuple):
    """What one caller may do, as of now. allows_somewhere: for some resource of a type."""

    allows: Callable[[Operation, int, str], bool]
    allows_somewhere: Callable[[Operation, int], bool]

    def of_cluster(self, operation: Operation) -> bool:
        return self.allows(operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def of_topic(self, operation: Operation, name: str) -> bool:
        return self.allows(operation, ResourceType.TOPIC, name)

    def of_some_topic(self, operation: Operation) -> bool:
        return self.allows_somewhere(operation, ResourceType.TOPIC)

    def permit(self, key: int) -> bool:
        """What the request needs of the cluster is permitted."""
        needed = OF_CLUSTER.get(key)
        return needed is None or self.of_cluster(needed)


EVERYTHING = Rights(lambda operation, resource_type, name: True, lambda operation, resource_type: True)


def rights_of(authorizer: Authorizer | None, image: Image, caller: Caller) -> Rights:
    """authorizer: None where everybody may do everything."""
    if authorizer is None:
        return EVERYTHING
    return Rights(
        lambda operation, resource_type, name: authorizer.allows(
            image, caller.principal, caller.host, operation, resource_type, name
        ),
        lambda operation, resource_type: authorizer.allows_somewhere(
            image, caller.principal, caller.host, operation, resource_type
        ),
    )
