"""KIP-268, the upgrade of Kafka Streams' rebalance metadata: version probing, and upgrade.from.

Read in this order: `releases` and `design` (constants and switches), `types`, `state`, `initial`; `decisions` (pure:
`behaviour`, `membership`, `assignor`, `versions`, `tasks`); `actions` (`membership`, `assignment`, `operator`);
`properties`, `models` and `gallery`.

Out of scope: state stores and their restoration, standby tasks, KIP-441, cooperative rebalancing (KIP-429), static
membership, the group protocols KIP-848 and KIP-1071, exactly-once; the bytes of the messages.
"""
