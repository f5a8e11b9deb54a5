"""lade: the interface of the original implementation, so that its users change one import.

>>> from decoding import lade
>>> lade.augment_all()
>>> lade.config_lade(LEVEL=5, WINDOW_SIZE=7, GUESS_SET_SIZE=7, DEBUG=1)
>>> output = model.generate(**inputs, max_new_tokens=8)
<BLANKLINE>
==========================ACCELERATION===SUMMARY======================================
Generated tokens:  ... Total steps:  ...  Compression ratio:  ...
======================================================================================

From then on `model.generate(**inputs)` is sped up for every causal language model of transformers, greedy and sampled,
with every logits processor, stopping criterion and streamer. What lookahead decoding cannot serve (beams, batches, …)
is left to transformers' own methods. The environment is read at every call:

* ``USE_LADE=0`` has the original decode. Unset it means on: `augment_all` has asked for lookahead already, where the
  original implementation asks for both.
* ``CHAT=1`` prints a reply as it comes, by the tokenizer at ``model.tokenizer``; ``COLOR_PRINT=1`` colours the tokens
  that lookahead had guessed, 0 none. Unset they are coloured on a terminal, unless ``NO_COLOR`` is set.

With ``DEBUG=1`` a framed summary after every `generate` says how many steps it took, in the original's words, or a
line why it was left to transformers. ``lade.decoding.CONFIG_MAP`` holds the configuration and the log, and
``lade.utils.get_model`` loads a model with its tokenizer.

This is the only package that patches transformers.
"""

from decoding.lade import decoding as decoding
from decoding.lade import utils as utils
from decoding.lade.decoding import LookaheadDecoding as LookaheadDecoding
from decoding.lade.patching import augment_all as augment_all
from decoding.lade.patching import augment_generate as augment_generate
from decoding.lade.patching import augment_llama as augment_llama
from decoding.lade.patching import restore as restore
from decoding.lade.utils import config_lade as config_lade
from decoding.lade.utils import distributed as distributed
from decoding.lade.utils import get_device as get_device
from decoding.lade.utils import log_history as log_history
from decoding.lade.utils import save_log as save_log
