import pytest
import torch

from gnnbench.engine.profile import trace
from tests.engine.profile.subjects import event, subject_of, table, widest

SPMM = "void cusparse::csrmm_v2_kernel<int, float, float, float>(long, long, long, float const*, float*)"

TRACE = [
    event("user_annotation", "ProfilerStep#1", 0, 300),
    event("user_annotation", "call", 1, 200),
    event("gpu_user_annotation", "call", 10, 220),
    event("cpu_op", "aten::mm", 5, 20),
    event("cuda_runtime", "cudaLaunchKernel", 8, 4, correlation=11),
    event("kernel", SPMM, 20, 100, correlation=11, stream=7, grid=[1, 1, 1], block=[128, 1, 1]),
    event("kernel", "ampere_sgemm_128x64_nn", 121, 40, correlation=12, stream=7),
    event("kernel", "ampere_sgemm_128x64_nn", 161, 20, correlation=13, stream=7),
    event("cuda_runtime", "cudaMemcpyAsync", 90, 5, correlation=14),
    event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 190, 2, correlation=14, bytes=4),
    event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 195, 3, correlation=15, bytes=4096),
    event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 199, 3, correlation=16, bytes=1000),
    event("gpu_memset", "Memset (Device)", 205, 1, correlation=17, bytes=512),
    event("cuda_runtime", "cudaStreamSynchronize", 96, 97.5, correlation=18),
    event("cuda_runtime", "cudaDeviceSynchronize", 210, 80, correlation=19),
]

SET_UP = [event(kind, "of the set-up", -9, 5, bytes=1) for kind in ("kernel", "gpu_memcpy", "gpu_memset")]
"""In no step, and left out."""


def test_events_are_added_up_by_name_without_the_wait_that_ends_a_step():
    section = {**trace.summary([*SET_UP, *TRACE]), "cold_ns": 5_000_000, "repeats": 1}
    assert [line.rstrip() for line in table("kernels", section).splitlines()] == [
        "kernels: GPU kernels, and host-device synchronisations",
        "Name                                Time %    Time Calls     Avg     Min     Max",
        "cusparse::                             62%  100 µs     1  100 µs  100 µs  100 µs",
        "csrmm_v2_kernel<int, float, float,",
        " float>(lon…",
        "ampere_sgemm_128x64_nn                 38% 60.0 µs     2 30.0 µs 20.0 µs 40.0 µs",
        "",
        "copies and fills",
        "Name                                Time %    Time Calls     Avg     Min     Max",
        "5.0 KiB Memcpy HtoD (Pageable -        67% 6.00 µs     2 3.00 µs 3.00 µs 3.00 µs",
        "> Device)",
        "4 B Memcpy DtoH (Device -              22% 2.00 µs     1 2.00 µs 2.00 µs 2.00 µs",
        "> Pageable)",
        "512 B Memset (Device)                  11% 1.00 µs     1 1.00 µs 1.00 µs 1.00 µs",
        "",
        "waits for the GPU",
        "Name                  Time %    Time Calls     Avg     Min     Max",
        "cudaStreamSynchronize   100% 97.5 µs     1 97.5 µs 97.5 µs 97.5 µs",
        "Sums over 1 profiled calls.",
        "The first call, 5.00 ms, was not profiled.",
    ]


@pytest.mark.cuda
def test_kernels_copies_and_waits_of_a_gpu(tmp_path):
    x = torch.randn(512, 512, device="cuda")
    section = trace.kernels(subject_of(lambda: (x @ x).relu().sum().item(), "cuda", 3), tmp_path)
    assert sum(row["calls"] for row in section["rows"]) >= 3 * 3
    assert all(row["min_ns"] <= row["total_ns"] / row["calls"] <= row["max_ns"] for row in section["rows"])
    (read,) = (row for row in section["copies"] if "DtoH" in row["name"])  # the others are fills
    assert (read["calls"], read["bytes"]) == (3, 3 * 4)
    assert sum(row["calls"] for row in section["synchronizations"]) == 3
    assert widest(table("kernels", section)) <= 80
    assert list(tmp_path.iterdir()) == []
