"""Proofs and bounded model checking with Z3, from the same programs that the kernel runs."""
