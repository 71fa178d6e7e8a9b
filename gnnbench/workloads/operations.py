"""The operations the suite times, and what each platform calls them.

This table is what a newcomer reads (`gnnbench list`) and what pytest collects from, so it imports no
library. The platforms' own modules hold the code; a test holds the two together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .spec import BACKWARD, FORWARD, FORWARD_BACKWARD, STEP, TRAIN

FLOATS = ("float32", "bfloat16", "float64")
INTEGERS = ("int64", "int32")


@dataclass(frozen=True)
class Operation:
    """One row of the table."""

    name: str
    calls: Mapping[str, str]
    """Platform: the library call that is timed there."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Platform: why it has no such operation."""
    directions: tuple[str, ...] = (FORWARD, FORWARD_BACKWARD)
    core: bool = False
    """Whether a pull request runs it, in its last direction: one small, telling set."""


_USE_SPMM = "update_all is DGL's; spmm_sum, spmm_mean and spmm_max are the same sums here"
_CPU_ONLY = (("spmm_mean", "torch"), ("spmm_max", "torch"), ("spmm_max", "pyg"))
_CSR_PRODUCTS = (
    ("spmm_sum", "pyg"),
    *((f"aggregate{hops}", "torch") for hops in ("", "_one_hop", "_three_hops", "_four_hops")),
)
_AGGNET = "AGGNet is DGL code; its plain form is timed on torch"
_EPOCH = {
    "pyg": "GCNConv on edge_index",
    "sparse": "GCNConv on SparseTensor",
    "torch": "normalised CSR @ (x @ W)",
    "dgl": "GraphConv",
}

_MH_PROFILED = "the loop was profiled on DGL"
_MH_TRAIN = "its step is PyTorch's and the same for all: timed once for each variant"
_MH_VARIANTS = {
    "published": ({"torch": "gather, scatter, SciPy"}, "the plain form is PyTorch's"),
    "profiled": ({"dgl": "AGGNet, graphs built, SciPy"}, _MH_PROFILED),
    "optimised": (
        {
            "pyg": "one scatter per hop",
            "sparse": "one torch_sparse SpMM per hop",
            "torch": "one CSR product per hop",
            "dgl": "one u_mul_e_sum per hop",
        },
        "",
    ),
    "compiled": ({"torch": "torch.compile, one product per hop"}, "its product is PyTorch's"),
}

OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation(
            "add_self_loops",
            {
                "pyg": "add_remaining_self_loops",
                "sparse": "torch_sparse.fill_diag",
                "dgl": "dgl.add_self_loop",
            },
            {"torch": "plain PyTorch has no operation that adds self-loops to a CSR matrix"},
            core=True,
        ),
        Operation(
            "gcn_norm",
            {
                "pyg": "gcn_norm on edge_index",
                "sparse": "gcn_norm on SparseTensor",
            },
            {
                "torch": "plain PyTorch has no gcn_norm; its GCN normalises once, when the graph is built",
                "dgl": "DGL divides by the sums at both ends, another gradient: see edge_weight_norm",
            },
            core=True,
        ),
        Operation(
            "edge_weight_norm",
            {"dgl": "add_self_loop, EdgeWeightNorm"},
            dict.fromkeys(("pyg", "sparse", "torch"), "EdgeWeightNorm is DGL's; see gcn_norm"),
            core=True,
        ),
        Operation(
            "degree_norm",
            {"dgl": "GraphConv's degrees ** -0.5"},
            dict.fromkeys(
                ("pyg", "sparse", "torch"), "GraphConv's normalisation by degree is DGL's; see gcn_norm"
            ),
            directions=(FORWARD,),
        ),
        Operation(
            "spmm_sum",
            {
                "pyg": "utils.spmm on CSR",
                "sparse": "torch_sparse.matmul",
                "torch": "torch.sparse.mm(..., 'sum'); CUDA: CSR @ x",
                "dgl": "dgl.ops.copy_u_sum",
            },
            core=True,
        ),
        Operation(
            "spmm_mean",
            {
                "pyg": "utils.spmm on CSR",
                "sparse": "torch_sparse.matmul",
                "torch": "torch.sparse.mm(..., 'mean')",
                "dgl": "dgl.ops.copy_u_mean",
            },
        ),
        Operation(
            "spmm_max",
            {
                "pyg": "utils.spmm on CSR",
                "sparse": "torch_sparse.matmul",
                "torch": "torch.sparse.mm(..., 'amax')",
            },
            {"dgl": "dgl.ops.copy_u_max leaves -inf where there is no neighbour; see update_all_copy_u_max"},
        ),
        Operation(
            "spmm_sum_edge_index",
            {"pyg": "EdgeIndex.matmul"},
            dict.fromkeys(("sparse", "torch", "dgl"), "EdgeIndex is PyG's"),
        ),
        Operation(
            "gather_scatter_sum",
            {
                "pyg": "x[source], utils.scatter",
                "sparse": "x[source], torch_scatter",
                "torch": "index_select, index_add",
            },
            {"dgl": "DGL fuses gather and scatter; see update_all_copy_u_sum"},
            core=True,
        ),
        Operation(
            "update_all_copy_u_sum",
            {"dgl": "update_all(copy_u, sum)"},
            dict.fromkeys(("pyg", "sparse", "torch"), _USE_SPMM),
            core=True,
        ),
        Operation(
            "update_all_copy_u_mean",
            {"dgl": "update_all(copy_u, mean)"},
            dict.fromkeys(("pyg", "sparse", "torch"), _USE_SPMM),
        ),
        Operation(
            "update_all_copy_u_max",
            {"dgl": "update_all(copy_u, max)"},
            dict.fromkeys(("pyg", "sparse", "torch"), _USE_SPMM),
        ),
        Operation(
            "update_all_u_mul_e_sum",
            {"dgl": "update_all(u_mul_e, sum)"},
            dict.fromkeys(("pyg", "sparse", "torch"), _USE_SPMM),
        ),
        Operation(
            "linear",
            {"pyg": "torch_geometric.nn.Linear", "torch": "x @ W"},
            {
                "sparse": "the dense part is PyG's: see linear on pyg",
                "dgl": "GraphConv calls torch.matmul: see linear on torch",
            },
        ),
        Operation(
            "conv",
            {"pyg": "GCNConv", "sparse": "GCNConv on SparseTensor", "dgl": "GraphConv"},
            {"torch": "the plain layer's graph is normalised beforehand: see conv_cached"},
            core=True,
        ),
        Operation(
            "conv_cached",
            {
                "pyg": "GCNConv(cached=True)",
                "sparse": "GCNConv(cached=True)",
                "torch": "normalised CSR @ (x @ W)",
                "dgl": "GraphConv(norm='none'), weights",
            },
        ),
        Operation(
            "aggregate",
            {"dgl": "AGGNet: two GraphConv 1→1", "torch": "CSR @ (CSR @ x)"},
            dict.fromkeys(("pyg", "sparse"), _AGGNET),
            core=True,
        ),
        *(
            Operation(
                f"aggregate_{hops}",
                {"dgl": f"AGGNet: GraphConv 1→1, {number}", "torch": f"CSR @ x, {number}"},
                dict.fromkeys(("pyg", "sparse"), _AGGNET),
                directions=(FORWARD,),
            )
            for hops, number in (
                ("one_hop", "once"),
                ("three_hops", "three times"),
                ("four_hops", "four times"),
            )
        ),
        Operation(
            "mh_aggregate",
            {
                "pyg": "gather, weigh, scatter both columns",
                "sparse": "torch_sparse's SpMM, block-diagonal",
                "torch": "CSR @ x, block-diagonal",
                "dgl": "dgl.ops.u_mul_e_sum of both columns",
            },
            directions=(FORWARD,),
        ),
        Operation(
            "mh_aggregate_compiled",
            {"pyg": "gather and scatter, torch.compile"},
            dict.fromkeys(("sparse", "torch", "dgl"), "torch.compile refuses their sparse products"),
            directions=(FORWARD,),
        ),
        Operation(
            "mh_augment_profiled",
            {"dgl": "a new graph with copied features"},
            dict.fromkeys(("pyg", "sparse", "torch"), _MH_PROFILED),
            directions=(FORWARD,),
        ),
        Operation(
            "mh_augment_optimised",
            {"torch": "masks and a scale"},
            dict.fromkeys(("pyg", "sparse", "dgl"), "masks are PyTorch's on every platform: see it on torch"),
            directions=(FORWARD,),
        ),
        *(
            Operation(
                f"mh_proposal_{variant}",
                calls,
                {name: why for name in _EPOCH if name not in calls},
                directions=(FORWARD,),
            )
            for variant, (calls, why) in _MH_VARIANTS.items()
        ),
        *(
            Operation(
                f"mh_train_{variant}",
                {platform: f"{calls[platform]}, a step of Adam"},
                {name: _MH_TRAIN for name in _EPOCH if name != platform},
                directions=(STEP,),
            )
            for variant, (calls, _) in _MH_VARIANTS.items()
            for platform in ("torch" if "torch" in calls else "dgl",)
        ),
        Operation("epoch", _EPOCH, directions=(TRAIN,), core=True),
        Operation("epoch_forward", _EPOCH, directions=(FORWARD,)),
        Operation(
            "epoch_loss",
            {"torch": "nll_loss of log_softmax"},
            dict.fromkeys(
                ("pyg", "sparse", "dgl"), "the loss is PyTorch's on every platform: see it on torch"
            ),
            directions=(FORWARD,),
        ),
        Operation("epoch_backward", _EPOCH, directions=(BACKWARD,)),
        Operation(
            "epoch_step",
            {"torch": "torch.optim.Adam"},
            dict.fromkeys(
                ("pyg", "sparse", "dgl"), "the step is PyTorch's on every platform: see it on torch"
            ),
            directions=(STEP,),
        ),
    )
}


def unsupported(
    operation: str, platform: str, direction: str, dtype: str, index_dtype: str, device: str
) -> str | None:
    """Say why a library cannot run the operation in these types, or return None where it can.

    What is said was seen with torch 2.13, PyG 2.8.1, torch_sparse 0.6.18 and DGL 2.1.0.
    """
    reasons = {
        "torch_sparse's SparseTensor takes int64 indices only": index_dtype == "int32"
        and platform == "sparse"
        and operation != "gather_scatter_sum"
        and not operation.startswith("mh_"),
        "scatter_add_ takes int64 indices only, but for the smallest inputs": index_dtype == "int32"
        and platform in ("pyg", "sparse")
        and operation == "gather_scatter_sum",
        "EdgeIndex.matmul without values multiplies by float32 ones only": dtype != "float32"
        and operation == "spmm_sum_edge_index",
        "torch.sparse.mm reduces by mean and amax on the CPU only": device == "cuda"
        and (operation, platform) in _CPU_ONLY,
        "the CSR product @ has no bfloat16 on the CPU": dtype == "bfloat16"
        and device == "cpu"
        and ((operation, platform) in _CSR_PRODUCTS or operation.startswith("mh_train")),
        "the gradient of EdgeWeightNorm drowns in bfloat16's rounding at hubs": dtype == "bfloat16"
        and operation == "edge_weight_norm"
        and direction == FORWARD_BACKWARD,
        "the gradient of max is not unique in bfloat16, where neighbours tie": dtype == "bfloat16"
        and operation in ("spmm_max", "update_all_copy_u_max")
        and direction == FORWARD_BACKWARD,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
