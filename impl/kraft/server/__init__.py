"""The processes of a KIP-631 cluster: sockets, clocks and disks around the nodes of `impl.kraft.node`."""
