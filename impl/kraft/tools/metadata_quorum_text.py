"""The help of `kafka-metadata-quorum`: Kafka 4.3's, without the commands of voters that change."""

QUORUM = """\
usage: kafka-metadata-quorum [-h] [--command-config COMMAND_CONFIG]
                             (--bootstrap-server BOOTSTRAP_SERVER | --bootstrap-controller BOOTSTRAP_CONTROLLER)
                             {describe} ...

This tool describes kraft metadata quorum status.

positional arguments:
  {describe}
    describe             Describe the metadata quorum info

optional arguments:
  -h, --help             show this help message and exit
  --bootstrap-server BOOTSTRAP_SERVER
                         A comma-separated list of host:port pairs to use for establishing the connection to the Kafka
                         cluster.
  --bootstrap-controller BOOTSTRAP_CONTROLLER
                         A comma-separated list of host:port pairs to use for establishing the connection to the Kafka
                         controllers.
  --command-config COMMAND_CONFIG
                         Property file containing configs to be passed to Admin Client.

Exit codes: 0 done, 1 refused or no answer, 2 usage or configuration.
"""

DESCRIBE = """\
usage: kafka-metadata-quorum (--bootstrap-server BOOTSTRAP_SERVER | --bootstrap-controller BOOTSTRAP_CONTROLLER)
                             describe [-h] (--status | --replication) [--human-readable]

optional arguments:
  -h, --help             show this help message and exit

Status:
  --status               A short summary of the quorum status.

Replication:
  --replication          Detailed information about the status of replication
  --human-readable       Human-readable output
"""
