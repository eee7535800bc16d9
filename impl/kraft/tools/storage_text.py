"""The help of `kafka-storage`: KIP-631's, and below it the options that Kafka added."""

STORAGE = """\
usage: kafka-storage [-h] {info,format,random-uuid} ...

The Kafka storage tool.

positional arguments:
  {info,format,random-uuid}
    info                 Get information about the Kafka log directories on this node.
    format               Format the Kafka log directories on this node.
    random-uuid          Print a random UUID.

optional arguments:
  -h, --help             show this help message and exit

Exit codes: 0 done, 1 a directory has a problem, 2 usage or configuration.
"""

INFO = """\
usage: kafka-storage info [-h] --config CONFIG

optional arguments:
  -h, --help             show this help message and exit
  --config CONFIG, -c CONFIG
                         The Kafka configuration file to use.
"""

FORMAT = """\
usage: kafka-storage format [-h] --config CONFIG --cluster-id CLUSTER_ID [--ignore-formatted]
                     [--add-scram ADD_SCRAM] [--release-version RELEASE_VERSION] [--feature FEATURE]

optional arguments:
  -h, --help             show this help message and exit
  --config CONFIG, -c CONFIG
                         The Kafka configuration file to use.
  --cluster-id CLUSTER_ID, -t CLUSTER_ID
                         The cluster ID to use.
  --ignore-formatted, -g
                         Skip over already formatted directories rather than failing.
  --add-scram ADD_SCRAM, -S ADD_SCRAM
                         A SCRAM credential for the metadata log, as
                         'SCRAM-SHA-256=[name=alice,password=alice-secret]' or
                         'SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]'.
                         Needs release 3.5-IV2. May be given several times.
  --release-version RELEASE_VERSION, -r RELEASE_VERSION
                         The release of the initial metadata.version: 3.3-IV3, the default, to 3.7-IV4.
  --feature FEATURE, -f FEATURE
                         The initial level of a feature, as metadata.version=11. Others are 0 here.
"""

RANDOM_UUID = """\
usage: kafka-storage random-uuid [-h]

optional arguments:
  -h, --help             show this help message and exit
"""
