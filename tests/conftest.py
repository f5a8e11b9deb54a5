"""What all tests share: one thread for torch, because small models gain nothing from more and lose by contention."""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
