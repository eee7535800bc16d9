"""The configuration of a KIP-631 node: a properties file, whose problems are all found at once."""
