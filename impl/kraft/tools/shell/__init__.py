"""`kafka-metadata-shell`: the metadata of a snapshot as a tree of directories and files (KIP-631, kafka-shell.sh)."""
