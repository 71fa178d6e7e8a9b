"""A driver with GPUs: the module pynvml as far as we use it, with made-up answers."""

import sys
from types import ModuleType, SimpleNamespace

ANSWERS = {
    "Name": "NVIDIA H100 80GB HBM3",
    "MigMode": [0, 0],
    "PowerManagementLimit": 600_000,
    "PowerManagementDefaultLimit": 700_000,
    "ClockInfo": {0: 1980},
    "MaxClockInfo": {0: 1980},
    "CurrentClocksEventReasons": 1,
    "ComputeMode": 3,
    "ComputeRunningProcesses": [SimpleNamespace(pid=12)],
    "GraphicsRunningProcesses": [],
}
UUIDS = ("GPU-aaaa-1", "GPU-bbbb-2", "MIG-cccc-3")
"""The first two can be counted; the third is a slice."""


class NVMLError(Exception):
    pass


def install(monkeypatch, **changes):
    """Put a driver with two GPUs in the place of pynvml; a change to None is a question it cannot answer.

    A GPU's clock in MHz is greater by its number.
    """
    answers = {**ANSWERS, **changes}
    module = ModuleType("pynvml")
    module.opened = 0

    def opened(by):
        module.opened += by

    def ask(what):
        def answer(handle, *arguments):
            found = answers[what]
            if found is None:
                raise NVMLError
            return found[arguments[0]] + UUIDS.index(handle) if arguments else found

        return answer

    def by_index(index):
        if index >= 2:
            raise NVMLError
        return UUIDS[index]

    def by_uuid(uuid):
        if uuid not in UUIDS:
            raise NVMLError
        return uuid

    vars(module).update(
        {f"nvmlDeviceGet{what}": ask(what) for what in answers},
        NVMLError=NVMLError,
        NVML_CLOCK_GRAPHICS=0,
        NVML_COMPUTEMODE_DEFAULT=0,
        nvmlClocksEventReasonUserDefinedClocks=2,
        nvmlInit=lambda: opened(1),
        nvmlShutdown=lambda: opened(-1),
        nvmlSystemGetDriverVersion=lambda: "570.1",
        nvmlDeviceGetHandleByIndex=by_index,
        nvmlDeviceGetHandleByUUID=by_uuid,
        nvmlDeviceGetUUID=lambda handle: handle,
    )
    monkeypatch.setitem(sys.modules, "pynvml", module)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr("gnnbench.engine.ground.devices.torch_cuda_version", lambda: "13.0")
    return module
