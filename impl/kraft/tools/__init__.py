"""The command line tools of KIP-631: their syntax and output are the document's, and Kafka's where it went on."""
