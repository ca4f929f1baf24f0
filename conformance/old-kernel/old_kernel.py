#!/usr/bin/env python3
"""Runs a program as on Linux 4.18: a seccomp filter rejects the system calls that are newer.

    old_kernel.py run BINARY          Measures the embedded engine with `inferometer run` under the filter, once with
                                      the error ENOSYS (as an old kernel returns it), and once with EPERM (as the
                                      filters of old container runtimes return it).
    old_kernel.py cost EXAMPLE        Compares the precision and the CPU time of waits in the event loop under the
                                      filter and without it. EXAMPLE is the program that
                                      `cargo build --workspace --example waits` builds.
"""

import ctypes
import errno
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile

# The lowest number of the rejected system calls. System calls that are newer than Linux 4.18 have numbers from 424 on,
# the same on all processors. With EPERM, only later calls are rejected: programs with a newer C library do not start
# if `clone3` (435) or `faccessat2` (439) returns EPERM.
FIRST_NEWER = {errno.ENOSYS: 424, errno.EPERM: 440}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_NUMBER, JUMP_IF_AT_LEAST, RETURN = 0x20, 0x35, 0x06
ALLOW, ERROR = 0x7FFF0000, 0x00050000
ROUNDS = 7


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def refuse(error):
    """Installs the filter for this process and its children: newer system calls return the error."""
    statements = [(LOAD_NUMBER, 0, 0, 0), (JUMP_IF_AT_LEAST, 0, 1, FIRST_NEWER[error]),
                  (RETURN, 0, 0, ERROR | error), (RETURN, 0, 0, ALLOW)]
    code = b"".join(struct.pack("=HBBI", *statement) for statement in statements)
    program = Program(len(statements), code)
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in [(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
                      (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)]:
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def start(command, error, **more):
    """Runs a command, under the filter if an error is given. Returns the completed process."""
    before = (lambda: refuse(error)) if error else None
    return subprocess.run(command, preexec_fn=before, capture_output=True, text=True, check=False, **more)


def run(binary):
    """Measures the embedded engine under the filter. All requests must complete."""
    for error in (errno.ENOSYS, errno.EPERM):
        name = errno.errorcode[error]
        with tempfile.TemporaryDirectory() as folder:
            command = [os.path.abspath(binary), "run", "--speed", "100", "--input-lengths", "32", "--output-lengths", "16",
                       "--one-by-one", "2", "--requests", "16", "--json"]
            done = start(command, error, cwd=folder)
            if done.returncode != 0 or json.loads(done.stdout)["cells"][0]["passes"][1]["outcomes"]["complete"] != 16:
                sys.exit(f"{name}: exit code {done.returncode}\n{done.stderr}")
            print(f"{name}: measured")


def cost(example):
    """Runs EXAMPLE alternately with and without the filter, and prints medians and ratios."""
    found = {}
    for round_ in range(ROUNDS):
        order = [0, errno.ENOSYS] if round_ % 2 == 0 else [errno.ENOSYS, 0]
        for error in order:
            for line in start([os.path.abspath(example)], error).stdout.splitlines():
                span, *figures = line.split()
                found.setdefault(span, {}).setdefault(error, []).append([float(figure) for figure in figures])
    for span, by_error in found.items():
        for at, what in enumerate(["lateness p50 (us)", "lateness p99 (us)", "CPU time of a wait (us)"]):
            here, there = ([row[at] for row in by_error[error]] for error in (0, errno.ENOSYS))
            ratios = sorted(old / new for old, new in zip(there, here))
            print(f"{span} us, {what}: epoll_pwait2 {statistics.median(here):.2f}, timer {statistics.median(there):.2f}, "
                  f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("run", "cost"):
        sys.exit(__doc__)
    {"run": run, "cost": cost}[sys.argv[1]](sys.argv[2])
