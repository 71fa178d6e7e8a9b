"""The functions that are wrapped in each library."""

from .places import CLASS, Target

_LOSSES = (
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "nll_loss",
)
_ACTIVATIONS = ("elu", "gelu", "leaky_relu", "relu", "silu")

_MH_AUG = {
    "initialize": ("profiled:initialize",),
    "calculate delta value": (
        "profiled:calculate_delta_value",
        "published:drop_fractions",
        "optimised:drop_counts",
    ),
    "graph augmentation": ("profiled:graph_augmentation", "optimised:augment"),
    "message_passing": ("profiled:message_passing",),
    "calculate ego graph message passing value": ("profiled:calculate_ego_value",),
    "calculate augmented delta": (
        "profiled:calculate_augmented_delta",
        "published:changes",
        "optimised:both_columns",
    ),
    "calculate distribution": ("profiled:calculate_distribution",),
    "compute model": ("training:certainty",),
    "compute ent": ("chain:uncertainty",),
    "compute p aug": (
        "profiled:compute_p_aug",
        "published:log_target_density",
        "optimised:log_target_densities",
    ),
    "compute q aug": (
        "profiled:compute_q_aug",
        "published:log_proposal_density",
        "optimised:log_proposal_densities",
    ),
}
"""Ranges of the published profile of MH-Aug's loop, and each variant's functions for that part."""

PHASES = (
    Target("zero_grad", "torch.optim:Optimizer.zero_grad"),
    Target("zero_grad", "torch.nn:Module.zero_grad"),
    Target("forward", "torch.nn:Module.__call__"),
    Target("loss", "gnnbench.workloads.training:loss"),
    Target("loss", "torch.nn.modules.loss:_Loss.__call__"),  # otherwise Module.__call__ makes it a forward
    *(Target("loss", f"torch.nn.functional:{name}") for name in _LOSSES),
    Target("backward", "torch:Tensor.backward"),
    Target("backward", "torch.autograd:backward"),
    Target("backward", "torch.autograd:grad"),
    Target("optimizer.step", "torch.optim:Optimizer.step"),
)
"""The phases of an epoch."""

LAYERS = (
    *PHASES,
    *(Target("activation", f"torch.nn.functional:{name}") for name in _ACTIVATIONS),
    Target("x·W", "torch.nn:Linear.forward"),
    # plain PyTorch
    Target(CLASS, "gnnbench.workloads.platforms.torch:CSRConv.forward", inline=True),
    # PyG
    Target(CLASS, "torch_geometric.nn.conv:MessagePassing.forward", inline=True),
    Target("x·W", "torch_geometric.nn.dense.linear:Linear.forward"),
    Target("propagate", "torch_geometric.nn.conv:MessagePassing.propagate"),
    Target("message", "torch_geometric.nn.conv:MessagePassing.message", inline=True),
    Target("aggregate", "torch_geometric.nn.conv:MessagePassing.aggregate"),
    Target("message_and_aggregate", "torch_geometric.nn.conv:MessagePassing.message_and_aggregate"),
    Target("gcn_norm", "torch_geometric.nn.conv.gcn_conv:gcn_norm", inline=True),
    Target("add_remaining_self_loops", "torch_geometric.utils:add_remaining_self_loops"),
    Target("scatter", "torch_geometric.utils:scatter"),
    Target("spmm", "torch_geometric.utils:spmm"),
    # PyG on torch_sparse
    Target("fill_value", "torch_sparse:SparseTensor.fill_value"),
    Target("fill_diag", "torch_sparse:fill_diag"),
    Target("set_diag", "torch_sparse:set_diag"),
    Target("remove_diag", "torch_sparse:remove_diag"),
    Target("sum", "torch_sparse:sum"),
    Target("mul", "torch_sparse:mul"),
    Target("spmm", "torch_sparse:matmul"),
    # DGL
    Target(CLASS, "dgl.nn.pytorch.conv:GraphConv.forward", inline=True),
    Target("degrees", "dgl:DGLGraph.in_degrees"),
    Target("degrees", "dgl:DGLGraph.out_degrees"),
    Target("update_all", "dgl:DGLGraph.update_all"),
    Target("spmm", "dgl.ops:gspmm"),
    # MH-Aug
    *(
        Target(name, f"gnnbench.workloads.mhaug.{place}")
        for name, places in _MH_AUG.items()
        for place in places
    ),
)
"""The phases and the parts of a graph convolution. Only names of classes begin with a capital."""
