"""Metropolis-Hastings data augmentation for graph neural networks (Park et al., NeurIPS 2021).

A Markov chain over augmented graphs: some edges are dropped and the features of some nodes zeroed. How many
is proposed from truncated normals, and a proposal is accepted by how well the change that each node sees in
its neighbourhood fits a target that depends on the model's certainty there. Four variants walk the same chain
from the same random numbers: `published`, `profiled`, `optimised` and `compiled`.
"""
