"""Families of models that think: each one's template, in its manner, and a reply as such a model writes it."""

from __future__ import annotations

from typing import Any, NamedTuple

from tokenizers import AddedToken

from lade_chat.loading.text.thinking import Thinking
from tests.checkpoints import CHATML, byte_level_tokenizer

THOUGHT, ANSWER = "Ada adds.", "Bo keeps apples."

_TURNS = "{% for m in messages %}"
_PROMPT = "{% if add_generation_prompt %}"


class Family(NamedTuple):
    """``tokens`` are special, ``ordinary`` ones are not; ``said`` is a whole reply, without what the prompt opens."""

    template: str
    said: str
    thinking: Thinking
    tokens: tuple[str, ...] = ()
    ordinary: tuple[str, ...] = ()

    def tokenizer(self) -> Any:
        tokenizer = byte_level_tokenizer(chat_template=self.template)
        special = [AddedToken(each, special=True, normalized=False) for each in self.tokens]
        tokenizer.add_tokens(special, special_tokens=True)
        tokenizer.add_tokens([AddedToken(each, special=False, normalized=False) for each in self.ordinary])
        return tokenizer


def _chatml(reply: str, begun: str = "") -> str:
    """ChatML with ``reply`` for what the assistant says, and a prompt that has ``begun`` it."""
    turn = f"{{% if m.role == 'assistant' %}}{reply}{{% else %}}{{{{ m.content }}}}{{% endif %}}"
    return (
        f"{_TURNS}<|im_start|>{{{{ m.role }}}}\n{turn}<|im_end|>\n{{% endfor %}}"
        f"{_PROMPT}<|im_start|>assistant\n{begun}{{% endif %}}"
    )


_REASONING = "{% if loop.last and m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}"
_LAST = _REASONING + "{{ m.content }}"
_BEHIND_TAG = "{{ m.content.split('</think>')[-1] }}"
_CHANNELS = (
    _TURNS + "{% if m.role == 'assistant' %}"
    "{% if '<|channel|>' in m.content %}{{ raise_exception('no channels in contents') }}{% endif %}"
    "{% if loop.last and m.thinking %}"
    "<|start|>assistant<|channel|>analysis<|message|>{{ m.thinking }}<|end|>{% endif %}"
    "<|start|>assistant<|channel|>final<|message|>{{ m.content }}"
    "{% if loop.last %}<|return|>{% else %}<|end|>{% endif %}"
    "{% else %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
    + _PROMPT
    + "<|start|>assistant{% endif %}"
)
_MISTRAL = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}{{ m.content }}{{ eos_token }}"
    "{% else %}[INST]{{ m.content }}[/INST]{% endif %}{% endfor %}{# [THINK] and [/THINK] are the model's #}"
)
_GEMMA = (
    _TURNS + "<|turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
    "{% if m.tool_calls and m.reasoning %}{{ '<|channel>thought\n' + m.reasoning + '\n<channel|>' }}{% endif %}"
    "{{ m.content.split('<channel|>')[-1] }}<turn|>\n{% endfor %}" + _PROMPT + "<|turn>model\n{% endif %}"
)
_SEED = (
    _TURNS + "<seed:bos>{{ m.role }}\n"
    "{% if m.reasoning_content %}<seed:think>{{ m.reasoning_content }}</seed:think>{% endif %}"
    "{{ m.content }}<seed:eos>{% endfor %}" + _PROMPT + "<seed:bos>assistant\n{% endif %}"
)
_COHERE = (
    _TURNS + "<|START_OF_TURN_TOKEN|>{{ m.role }}{% if m.role == 'assistant' %}<|START_RESPONSE|>{{ m.content }}"
    "<|END_RESPONSE|>{% else %}{{ m.content }}{% endif %}<|END_OF_TURN_TOKEN|>{% endfor %}"
    + _PROMPT
    + "<|START_OF_TURN_TOKEN|>assistant{% endif %}"
)
_TAGS = Thinking()
_FINAL = "<|start|>assistant<|channel|>final<|message|>"
_ANALYSIS = "<|channel|>analysis<|message|>"

FAMILIES = {
    "qwen3": Family(
        _chatml(_LAST),
        f"<think>\n{THOUGHT}\n</think>\n\n{ANSWER}<|im_end|>",
        _TAGS,
        ordinary=("<think>", "</think>"),
    ),
    "qwen3 that always thinks": Family(
        _chatml(_LAST, "<think>\n"), f"{THOUGHT}\n</think>\n\n{ANSWER}<|im_end|>", _TAGS, ("<think>", "</think>")
    ),
    "deepseek-r1": Family(_chatml(_BEHIND_TAG, "<think>\n"), f"{THOUGHT}\n</think>\n\n{ANSWER}<|im_end|>", _TAGS),
    "glm": Family(
        _chatml("<think>{{ m.reasoning_content or '' }}</think>\n{{ m.content }}"),
        f"<think>{THOUGHT}</think>\n{ANSWER}<|im_end|>",
        _TAGS,
        ("<think>", "</think>"),
    ),
    "gpt-oss": Family(
        _CHANNELS,
        f"{_ANALYSIS}Ada<|end|><|start|>assistant{_ANALYSIS}adds.<|end|>{_FINAL}{ANSWER}<|return|>",
        Thinking(
            _ANALYSIS,
            f"<|end|>{_FINAL}",
            f"<|end|><|start|>assistant{_ANALYSIS}",
            "<|channel|>final<|message|>",
        ),
        ("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>"),
    ),
    "gemma4": Family(
        _GEMMA,
        f"<|channel>thought\n{THOUGHT}\n<channel|>{ANSWER}<turn|>",
        Thinking("<|channel>thought", "<channel|>"),
        ("<|turn>", "<turn|>", "<|channel>", "<channel|>"),
    ),
    "mistral": Family(
        _MISTRAL,
        f"[THINK]{THOUGHT}[/THINK]{ANSWER}<|endoftext|>",
        Thinking("[THINK]", "[/THINK]"),
        ("[INST]", "[/INST]", "[THINK]", "[/THINK]"),
    ),
    "seed": Family(
        _SEED,
        f"<seed:think>{THOUGHT}</seed:think>{ANSWER}<seed:eos>",
        Thinking("<seed:think>", "</seed:think>"),
        ("<seed:bos>", "<seed:eos>", "<seed:think>", "</seed:think>"),
    ),
    "cohere": Family(
        _COHERE,
        f"<|START_THINKING|>{THOUGHT}<|END_THINKING|><|START_RESPONSE|>{ANSWER}<|END_RESPONSE|>",
        Thinking("<|START_THINKING|>", "<|END_THINKING|>"),
        (
            *("<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
            *("<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"),
        ),
    ),
    "kimi-vl": Family(
        CHATML + "{# ◁think▷ ◁/think▷ #}",
        f"◁think▷{THOUGHT}◁/think▷{ANSWER}<|im_end|>",
        Thinking("◁think▷", "◁/think▷"),
    ),
    "exaone-deep": Family(
        _chatml("{{ m.content.split('</thought>')[-1] }}", "<thought>\n"),
        f"{THOUGHT}\n</thought>\n\n{ANSWER}<|im_end|>",
        Thinking("<thought>", "</thought>"),
    ),
}
