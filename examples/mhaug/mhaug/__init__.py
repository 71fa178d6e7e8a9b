"""Metropolis-Hastings data augmentation for graph neural networks (MH-Aug; Park et al., NeurIPS 2021).

A Markov chain over augmented graphs: some edges are dropped, and some nodes' features are set to zero.
Truncated normals propose how many. The acceptance depends on how much each node's neighbourhood changes,
compared with a target that depends on the model's certainty at the node. Four variants, `published`,
`profiled`, `optimised` and `compiled`, visit the same states for the same random numbers.
"""
