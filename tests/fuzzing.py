"""A fuzzer: a random model, texts on one session by random decoders, and whatever users do to the model between them.

After every text it holds that text to what a fresh `generate` says, and the model to be as it was before. Everything
follows from a seed.

    python -m tests.fuzzing 600             # seconds, from a seed that the clock gives
    python -m tests.fuzzing --seed 1234     # one again, with what it does
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from random import Random
from typing import Any
from unittest.mock import patch

import torch

import decoding
from decoding import AutoregressiveDecoder, Decoder, JacobiDecoder, LookaheadConfig, LookaheadDecoder, SamplingConfig
from decoding.model import linear_kernels
from decoding.model.rotary import RotaryState
from decoding.session import Session
from tests.costs import DEAR, NEARLY_FREE, budgeted
from tests.length_models import LENGTHS, OTHERS, built
from tests.models import COMMON, CONFIGS, GPT2, ONE_HEAD_EACH, PLAIN_ONLY, VOCABULARY, random_model, tokens_of
from tests.mutations import MUTATIONS, Undo
from tests.traces import traces


def of_three_layers(family: str, seed: int) -> Any:
    """As many as the seeds that the tests run were chosen with."""
    with ExitStack() as stack:
        for sizes, name in ((COMMON, "num_hidden_layers"), (ONE_HEAD_EACH, "num_hidden_layers"), (GPT2, "n_layer")):
            stack.enter_context(patch.dict(sizes, {name: 3}))
        return random_model(family, seed)


ARCHITECTURES: dict[str, Callable[[int], Any]] = {
    **{name: lambda seed, name=name: of_three_layers(name, seed) for name in (*CONFIGS, *PLAIN_ONLY)},
    **{name: lambda seed, make=make: built(make()) for name, make in LENGTHS.items()},
    **{name: lambda seed, make=make: make() for name, make in OTHERS.items()},
}
NEAR_TIE = {torch.float32: 1e-3, torch.float64: 1e-6}
"""Tokens whose logits differ by less than this share of their spread may be told apart otherwise: in float64 because
some models compute parts in float32 whatever their dtype, Llama 4's rotary embeddings for one."""


class FaultError(AssertionError):
    """A text that `generate` would not have said, or a model that is not as it was."""


class Fuzz:
    """One run: a model, a session, and what has been done with them."""

    def __init__(self, seed: int) -> None:
        self.draw = Random(seed)
        self.log: list[str] = []
        # What depends on the length of a text is rare among models, and often at fault.
        kind = self.draw.choice([[*CONFIGS], [*CONFIGS], [*LENGTHS], [*LENGTHS, *OTHERS, *PLAIN_ONLY]])
        architecture = self.draw.choice(kind)
        self.model = ARCHITECTURES[architecture](seed)
        self.model.generation_config.eos_token_id = None
        exact = self.draw.random() < 0.8 or architecture in ("gpt_neo", *OTHERS)
        self.model = self.model if exact else self.model.float()
        self.exact = exact
        if self.draw.random() < 0.3 and architecture in CONFIGS:
            self.model.set_attn_implementation("eager")
        self.session = Session(self.model)
        self.undos: list[Undo] = []
        self.alphabet = self.draw.choice([6, VOCABULARY - 3])
        self.prompt = self._tokens(self.draw.choice([3, 12, 25, 31, 40]))
        self.log.append(f"{architecture} {self.model.dtype}")

    def run(self) -> None:
        """Raises FaultError."""
        texts = (self._text, self._text, self._interrupted, self._within_generate, self._sampled)
        with ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings(action="ignore"))
            stack.enter_context(patch.dict(linear_kernels.FEW_ROWS, {torch.float64: range(2, 129)}))
            try:
                for _ in range(self.draw.randint(2, 4)):
                    self._mutate()
                    self._edit()
                    self.draw.choice(texts)()
            except FaultError as fault:
                raise FaultError("\n".join([*self.log, str(fault)])) from None
            except Exception as error:
                raise FaultError("\n".join([*self.log, f"{type(error).__name__}: {error}"])) from error

    # --- what is done ------------------------------------------------------------------------------------------------

    def _mutate(self, chance: float = 0.6) -> str | None:
        """Change the model, or take a change back; returns what was done."""
        if self.draw.random() > chance:
            return None
        if self.undos and self.draw.random() < 0.3:
            self.undos.pop()()
            done = "last change taken back"
        else:
            mutation = self.draw.choice(MUTATIONS)
            undo, done = mutation(self.model, self.draw), mutation.__name__
            if undo is not None:
                self.undos.append(undo)
        self.log.append(done)
        return done

    def _edit(self) -> None:
        """The next prompt: the same, an earlier state of the text, or an edit of it, shorter or longer."""
        kind = self.draw.choice(["same", "next turn", "shorter", "shorter", "longer", "longer", "middle", "new"])
        text = self.session.ids or self.prompt
        cut = max(1, len(text) - self.draw.choice([1, 2, 4, 8, 16, 32]))
        self.prompt = {
            "same": lambda: self.prompt,
            "next turn": lambda: [*text, *self._tokens(4)],
            "shorter": lambda: text[:cut],
            "longer": lambda: [*text[:cut], *self._tokens(self.draw.choice([3, 8, 20, 40]))],
            "middle": lambda: [*text[: cut - 1], *self._tokens(1), *text[cut:]],
            "new": lambda: self._tokens(self.draw.choice([2, 20, 45])),
        }[kind]()[:90]
        if self.prompt == self.session.ids:  # it would be gone on with, not read as a prompt
            self.prompt = [*self.prompt, *self._tokens(1)]
        if self.draw.random() < 0.2:
            self.session = self.session.copy()
            kind += ", session copied"
        self.log.append(f"prompt of {len(self.prompt)} tokens: {kind}")

    def _text(self) -> None:
        most = self.draw.choice([1, 5, 16, 30])
        expected = self._expected(self.prompt, most)
        before = traces(self.model)
        self._check(self._said(self.prompt, most), expected, self.prompt, before)

    def _interrupted(self) -> None:
        """Closed in the middle, and gone on with by another decoder; the model may have been changed meanwhile."""
        most, found = 24, list[int]()
        expected = self._expected(self.prompt, most)
        before = traces(self.model)
        steps = self._decoder().generate(self.prompt, max_new_tokens=most, session=self.session)
        for _ in range(self.draw.randint(1, 5)):
            found += next(steps).tokens if len(found) < most else ()
        steps.close()
        self._check(found, expected[: len(found)], self.prompt, before)
        if len(found) == most:
            return
        text, rest = list(self.session.ids), expected[len(found) :]
        if self._mutate(0.3) is not None:
            # All is read anew, as a prompt.
            rest = self._expected(text, len(rest))
        before = traces(self.model)
        self._check(self._said(text, len(rest)), rest, text, before)

    def _within_generate(self) -> None:
        padding = self.draw.choice([0, 0, 1, 5])
        settings: dict[str, Any] = self.draw.choice([{}, {"repetition_penalty": 1.3}, {"no_repeat_ngram_size": 2}])
        settings |= {"max_new_tokens": self.draw.choice([2, 20]), "do_sample": False, "pad_token_id": 0}
        ids = torch.tensor([[0] * padding + self.prompt])
        mask = torch.tensor([[0] * padding + [1] * len(self.prompt)])
        with RotaryState(self.model).original():
            output = self.model.generate(
                ids, attention_mask=mask, **settings, output_logits=True, return_dict_in_generate=True
            )
        if not bool(torch.stack(output.logits).isfinite().all()):
            self.log.append("padding that gives no numbers")
            return
        expected = output.sequences[0, ids.shape[1] :].tolist()
        config = self.draw.choice([LookaheadConfig(4, 3, 4), LookaheadConfig(0, 2, 0)])
        session = self.draw.choice([None, self.session])
        self.log.append(f"custom_generate, {settings}, padding {padding}, {'no' if session is None else 'the'} session")
        before = traces(self.model)
        try:
            ids_found = self.model.generate(
                ids,
                attention_mask=mask,
                custom_generate=decoding.generate,
                lookahead_config=config,
                session=session,
                **settings,
            )
        except NotImplementedError as refusal:
            self.log.append(f"refused: {refusal}")
            return
        self._check(ids_found[0, ids.shape[1] :].tolist(), expected, self.prompt, before)

    def _sampled(self) -> None:
        """Sampling: what plain decoding from a fresh session draws with the same seed."""
        sampling = SamplingConfig(temperature=self.draw.choice([0.7, 1.5]), top_p=0.95, seed=self.draw.randrange(99))
        most = 16
        plain = AutoregressiveDecoder(self.model).generate(self.prompt, max_new_tokens=most, sampling=sampling)
        expected = tokens_of(plain)
        before = traces(self.model)
        self.session.emitted = 0
        found = self._said(self.prompt, most, sampling)
        if self.exact:
            self._check(found, expected, self.prompt, before)

    # --- how it is done ----------------------------------------------------------------------------------------------

    def _decoder(self) -> Decoder:
        window, ngram, guesses = self.draw.choice([(5, 4, 5), (2, 3, 2), (0, 2, 0), (7, 5, 7)])
        make = self.draw.choice(
            [
                lambda: budgeted(self.model, NEARLY_FREE),
                lambda: budgeted(self.model, DEAR),
                lambda: LookaheadDecoder(self.model, LookaheadConfig(window, ngram, guesses)),
                lambda: JacobiDecoder(self.model, self.draw.choice([1, 4, 16])),
                lambda: AutoregressiveDecoder(self.model),
            ]
        )
        decoder: Decoder = make()
        self.log.append(f"{type(decoder).__name__} {getattr(decoder, 'config', '')}")
        return decoder

    def _said(self, prompt: list[int], most: int, sampling: SamplingConfig | None = None) -> list[int]:
        steps = self._decoder().generate(prompt, max_new_tokens=most, session=self.session, sampling=sampling)
        return tokens_of(steps)

    def _expected(self, prompt: list[int], most: int) -> list[int]:
        """A fresh `generate`, on the model as it is, but as if it had read no longer text before."""
        ids = torch.tensor([prompt])
        with RotaryState(self.model).original():
            output = self.model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=most, pad_token_id=0
            )
        return output[0, len(prompt) :].tolist()  # type: ignore[no-any-return]

    def _tokens(self, most: int) -> list[int]:
        return [3 + self.draw.randrange(self.alphabet) for _ in range(most)]

    def _check(self, found: list[int], expected: list[int], prompt: list[int], before: dict[str, object]) -> None:
        now = traces(self.model)
        if now != before:
            changed = [name for name in {*now, *before} if now.get(name) != before.get(name)]
            raise FaultError(f"the model is not as it was: {changed[:5]}")
        if found == expected:
            return
        at = next((i for i, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), None)
        if at is not None and self._is_near_tie([*prompt, *expected[:at]]):
            self.log.append("a near tie")
            return
        raise FaultError(f"said {found}\nfor  {expected}\nfrom the token {at} on, after {prompt}")

    @torch.no_grad()
    def _is_near_tie(self, text: list[int]) -> bool:
        with RotaryState(self.model).original():
            logits = self.model(torch.tensor([text])).logits[0, -1]
        first, second = logits.topk(2).values.tolist()
        return first - second < NEAR_TIE[logits.dtype] * float(logits.std())


def main() -> None:
    """Run for a while, or one seed again; tells of every seed that shows a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=60.0)
    parser.add_argument("--seed", type=int, help="run this one alone, and tell what it does")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.seed is not None:
        fuzz = Fuzz(options.seed)
        try:
            fuzz.run()
        finally:
            sys.stdout.write("\n".join(fuzz.log) + "\n")
        return
    begun, first, faults = time.monotonic(), int(time.time()) * 1000, 0
    for seed in count(first):
        if time.monotonic() - begun > options.seconds:
            sys.stdout.write(f"{faults} faults in {seed - first} runs\n")
            return
        try:
            Fuzz(seed).run()
        except FaultError as fault:
            faults += 1
            sys.stdout.write(f"--- seed {seed}\n{fault}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
