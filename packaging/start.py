"""Measures how long a command takes to start: the median of 21 calls of --version.

Usage: start.py COMMAND MOST_MS. The exit code is 1 if the median is above MOST_MS (in milliseconds).
"""

import statistics
import subprocess
import sys
import time


def main() -> int:
    command, most_ms = sys.argv[1], float(sys.argv[2])
    took_ms = []
    for _ in range(21):
        began = time.perf_counter()
        subprocess.run([command, "--version"], check=True, stdout=subprocess.DEVNULL)
        took_ms.append(1e3 * (time.perf_counter() - began))
    median = statistics.median(took_ms)
    print(f"start: median {median:.0f} ms, from {min(took_ms):.0f} to {max(took_ms):.0f} ms")
    return 0 if median <= most_ms else 1


if __name__ == "__main__":
    sys.exit(main())
