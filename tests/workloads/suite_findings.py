"""What gnnbench profile finds in the suite itself."""

from gnnbench.workloads.spec import FORWARD_BACKWARD

READS = {"host-reads"}
SORTS = {"sorts"}
MESSAGES = {"gather-scatter"}
PYG = {"normalisation", "host-reads", "gather-scatter"}
SPARSE = {"normalisation", "host-reads"}
DGL = {"degree-normalisation", "host-reads"}

SEGMENTS = "segment_sum segment_mean segment_max"
HOPS = "aggregate aggregate_one_hop aggregate_three_hops aggregate_four_hops"
SOFTMAXES = "edge_softmax edge_softmax_1_thread edge_softmax_2_threads edge_softmax_all_threads"
ATTENTION = "gat_conv gatv2_conv epoch_gat"
CONVOLUTIONS = "conv conv_new_layer epoch epoch_forward"
SAMPLED_EPOCHS = "epoch_gin epoch_link epoch_sage_batches"

_ROWS = [
    # Masks of self-loops on pyg and sparse, and the numbers of nodes and edges that a storage or a graph asks
    # for. Their subject is the normalisation: nobody is told to cache it.
    ("add_remaining_self_loops", "pyg sparse dgl", READS),
    ("gcn_norm", "pyg sparse", READS),
    ("edge_weight_norm degree_norm", "dgl", READS),
    # What these benchmarks are there to show.
    ("gather_scatter_sum", "pyg sparse torch", MESSAGES),
    # One sort is what it does.
    ("group_argsort", "pyg", SORTS),
    # The largest index; which counts are zero; whether offsets ascend; in DGL's backward pass the last one.
    ("degree", "torch", READS),
    ("scatter_mean", "sparse", READS),
    (SEGMENTS, "torch", READS),
    (SEGMENTS, "dgl", READS, FORWARD_BACKWARD),
    # Edges are sorted, and the size of the result depends on them: libraries ask for it.
    ("coalesce to_undirected to_csr to_csc transpose", "pyg sparse torch", SORTS | READS),
    ("to_undirected", "dgl", READS),
    ("sort_edge_index", "pyg", SORTS),
    ("sort_edge_index", "sparse", SORTS | READS),
    ("edge_index_sort_by", "pyg torch", SORTS),
    ("to_coo", "pyg sparse", READS),
    ("to_coo", "torch", SORTS | READS),
    ("mask_select", "pyg torch", READS),
    ("subgraph", "pyg sparse", READS),
    ("k_hop_subgraph", "pyg dgl", SORTS | READS),
    # All of the above in a layer, and GraphConv's look at nodes without edges.
    (CONVOLUTIONS, "pyg", PYG),
    (CONVOLUTIONS, "sparse", SPARSE),
    (CONVOLUTIONS, "dgl", DGL),
    ("conv_cached", "pyg", MESSAGES),
    (f"conv_cached {HOPS}", "dgl", READS),
    # Layers on edge_index; and messages of both ends, which no sparse product computes.
    ("sage_conv epoch_sage gin_conv", "pyg", MESSAGES),
    ("transformer_conv", "pyg sparse", MESSAGES),
    ("message_passing", "pyg sparse torch", MESSAGES),
    # A softmax copies sums back to the edges that it summed, and layers multiply copied rows by it.
    (SOFTMAXES, "pyg sparse", MESSAGES),
    (ATTENTION, "pyg sparse", MESSAGES | READS),
    (ATTENTION, "dgl", READS),
    ("conv_compiled_sizes gat_conv_compiled_sizes", "pyg", READS),
    # RGCNConv reads the size of the largest relation, RelGraphConv each one's.
    ("rgcn_conv", "pyg", MESSAGES | READS),
    ("rgcn_conv", "sparse dgl", READS),
    ("rgcn_conv_fast hetero_conv", "pyg", MESSAGES),
    # Sizes of small graphs are read, by collating, and in DGL's backward pass by sums of segments.
    ("batch", "pyg sparse", READS),
    ("batch_csr", "pyg", READS),
    ("global_mean_pool", "dgl", READS, FORWARD_BACKWARD),
    ("topk_pool sort_pool", "pyg", SORTS | READS),
    ("sort_pool", "dgl", READS),
    ("to_dense_batch", "pyg", READS),
    (SAMPLED_EPOCHS, "pyg", MESSAGES | READS),
    (SAMPLED_EPOCHS, "dgl", READS),
    # Sizes of what was drawn; DGL's second hop begins at the sorted sources of the first.
    ("negative_sampling", "pyg", READS),
    ("sample_neighbors sample_neighbors_weighted", "dgl", SORTS | READS),
    ("saint_walk", "sparse dgl", SORTS | READS),
    ("neighbor_loader_first_0_workers neighbor_loader_first_2_workers", "pyg dgl", READS),
    ("cold_compile", "pyg", READS),
    # The augmentation loop: what was found in it, and what the optimised one is free of.
    ("mh_aggregate mh_proposal_optimised", "pyg", MESSAGES),
    ("mh_augment_profiled mh_proposal_profiled mh_train_profiled", "dgl", READS),
    ("mh_proposal_published", "torch", READS),
    ("mh_train_published mh_train_optimised mh_train_compiled", "torch", READS),
]
FINDINGS = {
    (operation, platform, *direction): rules
    for operations, platforms, rules, *direction in _ROWS
    for operation in operations.split()
    for platform in platforms.split()
}
"""All that is found, in each direction or, with a third part of the key, in that one."""


def expected(operation, platform, direction):
    return FINDINGS.get((operation, platform, direction), FINDINGS.get((operation, platform), set()))
