"""One text decoded by several processes: lookahead parallelism over replicas, and models split over processes."""

from decoding.parallel.channel import Channel as Channel
from decoding.parallel.channel import RankError as RankError
from decoding.parallel.channel import RankLostError as RankLostError
from decoding.parallel.channel import channels_to_ranks as channels_to_ranks
from decoding.parallel.mirror import Mirror as Mirror
from decoding.parallel.mirror import serve_part as serve_part
from decoding.parallel.ranks import PeerRanks as PeerRanks
from decoding.parallel.replica import serve as serve
from decoding.parallel.shared_lookahead import ParallelLookaheadDecoder as ParallelLookaheadDecoder
from decoding.parallel.shared_lookahead import SharedStepCost as SharedStepCost
from decoding.parallel.shared_lookahead import shared_step_cost_of as shared_step_cost_of
