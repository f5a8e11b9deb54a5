"""Several processes decode one text: lookahead parallelism over full replicas of the model, without moving any KV."""

from decoding.parallel.channel import Channel, WorkerError, WorkerLostError, channels_to_workers
from decoding.parallel.cost import SharedStepCost
from decoding.parallel.decoder import ParallelLookaheadDecoder
from decoding.parallel.mirror import Mirror, serve_part
from decoding.parallel.serve import serve
from decoding.parallel.workers import Workers

__all__ = [
    "Channel",
    "Mirror",
    "ParallelLookaheadDecoder",
    "SharedStepCost",
    "WorkerError",
    "WorkerLostError",
    "Workers",
    "channels_to_workers",
    "serve",
    "serve_part",
]
