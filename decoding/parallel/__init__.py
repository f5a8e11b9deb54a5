"""One text decoded by several processes: lookahead parallelism over replicas, and models split over processes."""

from decoding.parallel.channel import Channel, RankError, RankLostError, channels_to_ranks
from decoding.parallel.mirror import Mirror, serve_part
from decoding.parallel.ranks import PeerRanks
from decoding.parallel.replica import serve
from decoding.parallel.shared_lookahead import ParallelLookaheadDecoder, SharedStepCost, shared_step_cost_of

__all__ = [
    "Channel",
    "Mirror",
    "ParallelLookaheadDecoder",
    "PeerRanks",
    "RankError",
    "RankLostError",
    "SharedStepCost",
    "channels_to_ranks",
    "serve",
    "serve_part",
    "shared_step_cost_of",
]
