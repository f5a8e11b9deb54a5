"""What ``--help`` shows at its end: examples of each command, and the exit codes."""

from __future__ import annotations

EXIT_CODES = "Exit codes: 0 done · 1 failed · 2 wrong usage · 130 interrupted · 141 the reader of a pipe left"
CHAT_EXAMPLES = """\b
Examples:
  lade-chat
  lade-chat --model-path Qwen/Qwen2.5-0.5B-Instruct --dtype float32
  lade-chat --model-path ./my-model --no-lookahead
  lade-chat --temperature 0.8 --top-p 0.9
  lade-chat --continue
  lade-chat --resume fox
  lade-chat ask "Count from 3 to 30."
"""
ASK_EXAMPLES = """\b
Examples:
  lade-chat ask "Count from 3 to 30." -W 10 -N 4
  git diff | lade-chat ask --system "Write a commit message." > message.txt
  cat notes.txt | lade-chat ask "Summarise this:"
  lade-chat ask "Summarise @notes.txt"
  lade-chat ask --continue "Shorter, please."
  lade-chat ask --batch prompts.txt --output answers.jsonl
  lade-chat ask "Hello" --json | jq .tokens_per_step
  lade-chat ask "Tell me a story." --temperature 0.8 --top-p 0.9 --seed 7
  lade-chat ask "Count from 3 to 30." --stop 12 --stop $'\\n'
  lade-chat ask "Tell me a short story about a fox." --export fox.html --export fox.gif
"""
COMPARE_EXAMPLES = """\b
Examples:
  lade-chat compare "Write a Python function that returns the sum of a list."
  lade-chat compare "Count from 3 to 30." --json --dtype float32 | jq .speedup
  lade-chat compare "Count from 3 to 30." --export race.svg --export race.cast
  lade-chat compare "Count from 3 to 30." --left 7,5,7 --right hf-prompt-lookup-10
  lade-chat compare --suite lists,math --limit 5
"""
BENCH_EXAMPLES = """\b
Examples:
  lade-chat bench --suites code,math --methods lookahead,hf-generate
  lade-chat bench --fixed 15,5,15 --fixed 5,3,5 --sweep --plot speed.png
  lade-chat bench --pad-cost 1.1B --dtype bfloat16 --suites story --repeats 5
  lade-chat bench --model-path ./my-model --prompts question.jsonl --limit 20
  lade-chat bench --json | jq .overall
"""
EXPLAIN_EXAMPLES = """\b
Examples:
  lade-chat explain
  lade-chat explain "Count down from 20 to 1." --model-path ./my-model
"""
TUNE_EXAMPLES = """\b
Examples:
  lade-chat tune
  lade-chat tune --sweep -W 20 -N 6 --model-path ./my-model
"""
SETTINGS_EXAMPLES = """\b
Examples:
  lade-chat settings
  lade-chat settings temperature=0.8 top_p=0.9 theme=lade-paper
  lade-chat settings temperature= "stop=END"
  LADE_CHAT_DTYPE=float32 lade-chat settings --json | jq .settings.dtype
"""
WEB_EXAMPLES = """\b
Examples:
  lade-chat web
  lade-chat web --open --port 0 --model-path ./my-model
"""
