"""One text decoded by several processes: lookahead parallelism over replicas, and models split over processes."""

from decoding.parallel.channel import Channel, WorkerError, WorkerLostError, channels_to_workers
from decoding.parallel.cost import SharedStepCost
from decoding.parallel.decoder import ParallelLookaheadDecoder
from decoding.parallel.mirror import Mirror, serve_part
from decoding.parallel.ranks import Workers
from decoding.parallel.replica import serve

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
