"""KIP-631: the quorum controller and its brokers.

`controller` decides, `broker` follows; both replay the records of `records` into the image of `image`. Nothing in them
has a clock, a socket, a file, a random source or a thread: see `effects` for what a runtime is to do. `storage` is a
log on disk for them, `raft` a quorum that replicates it, `node` a voter and its controller as one.
Leaves out, for now: the wire format, unclean election, KIP-704, ELR (KIP-966), log directories
(KIP-858), KIP-853.
"""
