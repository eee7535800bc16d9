"""The steps of controllers, brokers, the network and operators, with the faults that perturb them."""
