"""Requests of a program to valgrind, under which it runs, without a library that was compiled for it.

A request is a sequence of instructions that does nothing on a processor. Valgrind recognises it, and takes
the address of six words from a register: the request, and its arguments. See `valgrind.h` and `callgrind.h`.
"""

import ctypes
import mmap
import platform
from collections.abc import Callable
from functools import partial

_TOOL = ord("C") << 24 | ord("T") << 16
_RUNNING = 0x1001
DUMP, ZERO, TOGGLE, START, STOP = _TOOL, _TOOL + 1, _TOOL + 2, _TOOL + 4, _TOOL + 5
"""Write the counts to a file; forget them; begin to count, or cease; watch what is executed; cease to."""
_WORDS = 6

_REQUEST = (
    "31 d2"  # xor edx, edx          the answer, if this is no valgrind
    "48 c1 c7 03 48 c1 c7 0d"  # rol rdi, 3; rol rdi, 13
    "48 c1 c7 3d 48 c1 c7 33"  # rol rdi, 61; rol rdi, 51: 128 bits together, so rdi stays as it is
    "48 87 db"  # xchg rbx, rbx      valgrind reads rax, and answers in rdx
)
_MAKE = (
    "48 89 f8"  # mov rax, rdi       the address of the words
    f"{_REQUEST}"
    "48 89 d0"  # mov rax, rdx
    "c3"  # ret
)
"""A function of C: makes the request whose words its argument points to, and returns the answer."""
_HOOK = (
    "49 b8 {state}"  # mov r8, STATE
    "85 d2"  # test edx, edx         the event: 0, a call
    "74 0d"  # je call
    "83 fa 03"  # cmp edx, 3         3, a return
    "75 2d"  # jne out
    "49 8b 00"  # mov rax, [r8]
    "49 ff 08"  # dec qword [r8]
    "eb 06"  # jmp both
    "49 ff 00"  # call: inc qword [r8]
    "49 8b 00"  # mov rax, [r8]
    "49 3b 40 08"  # both: cmp rax, [r8+8]
    "77 19"  # ja out
    "49 8d 40 10"  # lea rax, [r8+16]
    f"{_REQUEST}"
    "31 c0"  # out: xor eax, eax
    "c3"  # ret
)
"""A `Py_tracefunc`: makes a request at each call and return of a Python function, up to some depth.

STATE is the address of the present depth, the largest depth, and the words of the request."""
ARCHITECTURE = "x86_64"


class Requests:
    """The requests above, and a hook for Python's calls, as functions of C that execute few instructions."""

    def __init__(self) -> None:
        assert platform.machine() == ARCHITECTURE
        self._pages: list[mmap.mmap] = []
        self._words = {
            name: (ctypes.c_uint64 * _WORDS)(name) for name in (_RUNNING, DUMP, ZERO, TOGGLE, START, STOP)
        }
        self._make = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(self._loaded(_MAKE))
        self._state = (ctypes.c_uint64 * (2 + _WORDS))(0, 0, DUMP)
        state = ctypes.addressof(self._state).to_bytes(8, "little").hex()
        self._hook = self._loaded(_HOOK.format(state=state))
        self._set_profile = ctypes.pythonapi.PyEval_SetProfile
        self._set_profile.argtypes, self._set_profile.restype = (ctypes.c_void_p, ctypes.py_object), None

    def _loaded(self, code: str) -> int:
        """Return the address of machine code in memory."""
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(bytes.fromhex(code))
        self._pages.append(page)
        return ctypes.addressof(ctypes.c_char.from_buffer(page))

    def prepared(self, request: int) -> Callable[[], int]:
        """Return a function that makes a request; it is no Python function."""
        return partial(self._make, ctypes.addressof(self._words[request]))

    @property
    def answered(self) -> bool:
        """Whether this process runs under valgrind."""
        return bool(self.prepared(_RUNNING)())

    def at_frames(self, deepest: int) -> tuple[Callable[[], None], Callable[[], None]]:
        """Return two functions, which are no Python functions, to be called before and after other calls.

        Between them, the counts are written to a file at each call and return of a Python function.

        Args:
            deepest: depth of the calls, from 1, up to which this is done.
        """
        self._state[0], self._state[1] = 0, deepest
        return partial(self._set_profile, self._hook, None), partial(self._set_profile, None, None)
