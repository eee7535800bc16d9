"""KIP-631: the quorum controller and its brokers.

`controller` decides, `broker` follows; both replay the records of `records` into the image of `image`. Nothing in them
has a clock, a socket, a file, a random source or a thread: see `effects` for what a runtime is to do. `storage` is a
log on disk for them, `raft` a quorum that replicates it, `node` a voter and its controller as one.
`server` has the wire format. Leaves out, for now: ELR (KIP-966), KIP-853.
"""
