"""The machine that results were measured on, and the memory of a process. Standard library only."""

from __future__ import annotations

import os
import platform
from datetime import date
from pathlib import Path


def machine() -> dict:
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "memory_gb": round(total_gigabytes(), 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "date": date.today().isoformat(),
    }


def cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def total_gigabytes() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def resident_gigabytes(pid: int) -> float:
    """Memory of a process now; 0 where the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e9
