"""Who somebody is, and what they may do: SASL, SCRAM, principals and ACLs, without I/O."""
