"""A quorum of real cores and real storage on simulated disks, network and time: a run is a seed, and its hash.

python -m impl.kraft.simulation --seeds 100
"""
