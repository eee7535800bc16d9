"""The log, snapshots and election state of `impl/kraft` on a disk, in the files of Apache Kafka.

`disk` is the interface that everything is written through, `storage` what a voter keeps, `directories` the log
directories around it; `effects` carries out what a core asks for. Static voters, one partition, no compression.
"""
