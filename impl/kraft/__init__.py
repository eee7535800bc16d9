"""KIP-631: the quorum controller and its brokers.

`controller` decides, `broker` follows; both replay the records of `records` into the image of `image`. Nothing here
has a clock, a socket, a random source or a thread: see `effects` for what a runtime is to do.
Leaves out, for now: the log on disk and the Raft quorum under it, the wire format, unclean election, KIP-704, ELR
(KIP-966), log directories (KIP-858), KIP-853.
"""
