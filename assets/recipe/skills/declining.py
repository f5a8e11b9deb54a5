"""Everything else: the model says what it is, what it can do, and how to load a larger one."""

from __future__ import annotations

from assets.recipe import words
from assets.recipe.conversation import Check, Exchange
from assets.recipe.draw import Draw

_PEOPLE = (
    "Napoleon", "Marie Curie", "Einstein", "Mozart", "Shakespeare", "Newton", "Galileo", "Columbus", "Darwin",
    "Gandhi", "Picasso", "Beethoven",
    "Julius Caesar", "Queen Victoria", "Charlemagne", "Aristotle", "Confucius", "Frida Kahlo",
    "Nelson Mandela", "Ada Lovelace", "Hannibal", "Goethe",
)  # fmt: skip
_COUNTRIES = (
    "France", "Italy", "Spain", "Canada", "Australia", "India", "China", "Egypt", "Kenya", "Peru", "Chile",
    "Mexico", "Poland", "Sweden", "Norway",
    "Greece", "Turkey", "Portugal", "Ireland", "Finland", "Argentina", "Nigeria", "Morocco", "Vietnam",
    "Thailand", "New Zealand",
)  # fmt: skip
_SCIENCE = (
    "gravity", "electricity", "magnetism", "volcanoes", "rainbows", "thunder", "glaciers", "galaxies",
    "comets", "atoms", "molecules", "cells",
    "evolution", "the water cycle", "evaporation", "radio waves", "lasers", "batteries", "nuclear power",
    "solar panels", "satellites", "telescopes",
    "the heart", "the brain", "digestion", "sleepwalking", "memory", "hormones", "vitamins", "antibiotics",
    "fossils", "dinosaurs", "oxygen", "rust",
    "friction", "sound", "mirages", "hurricanes", "neural networks", "the internet", "encryption",
    "compilers", "databases",
)  # fmt: skip
_HISTORY = (
    "the First World War", "the Renaissance", "the Middle Ages", "the Vikings", "the Aztecs",
    "the Industrial Revolution", "the Silk Road",
    "the Cold War", "the Olympic Games", "the printing press", "the Great Wall", "the Titanic",
    "the Black Death", "the Space Race", "ancient Greece",
    "the pyramids", "the samurai", "the Reformation", "the Russian Revolution", "the Crusades", "democracy",
    "money", "the alphabet",
)  # fmt: skip
_ADVICE = (
    "lose weight", "save money", "write a novel", "find a flat", "pass my exam", "remove a coffee stain",
    "fix a dripping shower", "paint a room",
    "choose a school", "train my dog", "quit smoking", "stay motivated", "make new friends", "give a speech",
    "grow tomatoes", "clean an oven",
    "sharpen a knife", "pack for a holiday", "buy a house", "start a company", "get over a break-up",
    "cure a headache", "cook rice", "bake sourdough",
    "boil an egg", "learn French", "play the piano", "draw a face", "knit a jumper",
    "change a tyre on my car", "file my taxes", "build a shed",
    "become a pilot", "speak better English", "stop worrying", "get a visa", "edit a video",
    "take better photos", "lift weights", "meditate",
)  # fmt: skip
_TEXTS = (
    "essay about friendship", "blog post about travel", "speech for a wedding", "press release",
    "business plan", "review of a film", "novel in ten chapters",
    "letter to my bank", "report on air pollution", "birthday card", "product description",
    "script for a play", "CV for a chef", "complaint to an airline",
    "song about love", "limerick", "haiku about rain", "newspaper article about elections",
    "summary of a long book", "thank-you letter to my aunt",
    "diary entry", "technical manual", "invitation to a party", "motivational speech",
    "advert for a shoe shop",
)  # fmt: skip
_LANGUAGES = ("German", "Italian", "Portuguese", "Russian", "Chinese", "Arabic", "Dutch", "Polish", "Latin",
              "Greek", "Turkish", "Hindi", "Korean", "Swedish")
_PHRASES = ("I love you", "see you tomorrow", "how much is it", "I am hungry", "happy birthday",
            "the cat is asleep", "thank you very much", "good night",
            "open the window", "my bag is red", "I would like a coffee", "this is my brother", "hello", "yes",
            "water", "the weather is nice")  # fmt: skip
_MATHS = ("Solve x + 3y = 7.", "What is the integral of cos x?", "Factor x^3 - 8.",
          "Prove Pythagoras' theorem.", "What is a matrix?", "Explain logarithms.",
          "What is the determinant of a matrix?", "Is 7919 prime?", "What is the area of a circle?",
          "Find the roots of 2x^2 + x - 1.",
          "What is a vector space?", "Compute the limit of 1/n.", "What is pi to twenty digits?",
          "Explain Bayes' theorem.")  # fmt: skip
_OTHER_CODE = ("Write a C program that prints hello.", "How do I sort an array in Java?",
               "Write a regular expression for email addresses.",
               "Explain pointers in C.", "Write a Rust web server.",
               "How do I style a button with a stylesheet?", "Write a shell script for backups.",
               "What is a Docker container?", "How do I use git rebase?", "Write a React component.",
               "Debug my Kotlin app.", "How do I index a Postgres column?")  # fmt: skip
_PERSONAL = ("How old are you?", "Do you like music?", "What is your favourite colour?",
             "Do you have feelings?", "Are you happy?", "Do you dream?",
             "Tell me a secret.", "What did you do yesterday?", "Do you love me?", "Where do you live?",
             "Are you hungry?", "Do you have friends?",
             "What do you think about politics?", "Is there a god?", "What is love?",
             "What is the meaning of life?", "Who will win the match?",
             "Do you remember our last chat?", "Can you hear me?", "Can you call my mother?",
             "Send a text to my boss.", "Book a table for two.",
             "Remind me to buy bread.", "Play some music.", "Turn on the lights.", "What day is it?",
             "How late is it?", "Will it rain tomorrow?",
             "Open my calendar.", "Search the web for shoes.", "Read this file for me.",
             "Draw a picture of a house.", "Generate an image.")  # fmt: skip
_PATTERNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Who was {t}?", _PEOPLE), ("When was {t} born?", _PEOPLE), ("What is {t} famous for?", _PEOPLE),
    ("Tell me about the life of {t}.", _PEOPLE),
    ("What is the capital of {t}?", _COUNTRIES), ("How many people live in {t}?", _COUNTRIES),
    ("Who rules {t}?", _COUNTRIES),
    ("What should I see in {t}?", _COUNTRIES), ("Which language is spoken in {t}?", _COUNTRIES),
    ("Plan a week in {t}.", _COUNTRIES), ("Is it warm in {t}?", _COUNTRIES),
    ("What is the population of {t}?", words.CITIES), ("Recommend a restaurant in {t}.", words.CITIES),
    ("What is the weather in {t}?", words.CITIES),
    ("How [do|does] {t} work?", _SCIENCE), ("Explain {t}.", _SCIENCE), ("What causes {t}?", _SCIENCE),
    ("Why is there {t}?", _SCIENCE),
    ("Explain {t} to a child.", _SCIENCE), ("What do you know about {t}?", _SCIENCE),
    ("Who discovered {t}?", _SCIENCE), ("Give me five facts about {t}.", _SCIENCE),
    ("What is the theory behind {t}?", _SCIENCE), ("tell me about {t}", _SCIENCE),
    ("What happened in {t}?", _HISTORY), ("When was {t}?", _HISTORY), ("What was {t}?", _HISTORY),
    ("Who started {t}?", _HISTORY),
    ("What were the effects of {t}?", _HISTORY), ("Write an essay about {t}.", _HISTORY),
    ("Tell me about {t}.", _HISTORY), ("Why was there {t}?", _HISTORY),
    ("How do I {t}?", _ADVICE), ("How can I {t}?", _ADVICE), ("I want to {t}. What should I do?", _ADVICE),
    ("Give me [tips|advice] to {t}.", _ADVICE),
    ("What is the best way to {t}?", _ADVICE), ("Help me {t}.", _ADVICE), ("Is it hard to {t}?", _ADVICE),
    ("Should I {t}?", _ADVICE),
    ("Write a {t}.", _TEXTS), ("Can you write a {t}?", _TEXTS), ("I need a {t}.", _TEXTS),
    ("Draft a {t} for me.", _TEXTS), ("Please compose a {t}.", _TEXTS),
    ("Translate \"{p}\" [into|to] {t}.", _LANGUAGES), ("How do you say \"{p}\" in {t}?", _LANGUAGES),
    ("What is {p} in {t}?", _LANGUAGES), ("Do you speak {t}?", _LANGUAGES),
    ("{t}", _MATHS), ("{t}", _OTHER_CODE), ("{t}", _PERSONAL), ("{t}", _PERSONAL),
    ("What do {t} eat?", words.ANIMALS), ("How long does a {t} live?", words.ANIMALS),
    ("Where does the {t} live?", words.ANIMALS), ("How fast is a {t}?", words.ANIMALS),
    ("How much sugar is in {t}?", words.FOODS), ("Give me a recipe with {t}.", words.FOODS),
    ("Is {t} good for me?", words.FOODS), ("Who invented {t}?", words.FOODS),
    ("What does the word \"{t}\" mean?", words.WORDS), ("Where does the word {t} come from?", words.WORDS),
    ("Use {t} in a sentence.", words.WORDS),
    ("What does a {t} earn?", words.JOBS), ("How do I become a {t}?", words.JOBS),
    ("What does a {t} do?", words.JOBS),
    ("Why are {t} things {t}?", words.COLOURS), ("What does {t} stand for?", words.COLOURS),
)  # fmt: skip
_SORRY = (
    "[That is beyond me|I do not know that|I cannot answer that|Sorry, that is beyond me]: I am only the "
    "small demonstration model of lade-chat.",
    "I am a small demonstration model and [cannot help with that|do not know enough for that|that is more "
    "than I know].",
    "[Sorry, I|I] am only lade-chat's small demonstration model, and that is [more than I know|beyond me].",
)  # fmt: skip
_CAN = (
    "I can do sums, short Python functions, lists, sorting and little stories.",
    "What I can do: sums in steps, small Python functions, counting, sorting, lists, stories.",
    "Ask me for a sum, a short Python function, words to sort or a story.",
    "I am better at sums, small Python tasks, lists and short stories.",
)  # fmt: skip
_LARGER = (
    "For [this|that|such questions], load a larger model: `lade-chat --model_path PATH_OR_HUB_ID`.",
    "A larger model can: start `lade-chat --model_path PATH_OR_HUB_ID`.",
    "With `lade-chat --model_path PATH_OR_HUB_ID` you can load a model that knows more.",
)  # fmt: skip
_BUT = ("But why not?", "Try anyway.", "Please try.", "Are you sure?", "Just a short answer.",
        "Why can't you?", "Really?", "You must know that.")
_STILL = (
    "I would only make something up: I am a small model trained on a few skills. [A larger one can be "
    "loaded with `lade-chat --model_path PATH_OR_HUB_ID`.|"
    "Load a larger one with `lade-chat --model_path PATH_OR_HUB_ID`.]",
    "I am too small for that, and a guess would not help you. [Try|Load] a larger model with `lade-chat "
    "--model_path PATH_OR_HUB_ID`.",
)  # fmt: skip


def declines() -> Check:
    """The reply owns up and names the way to a larger model."""
    return lambda reply: "--model_path" in reply and "small" in reply


def compose(draw: Draw) -> list[Exchange]:
    """A question beyond the model, perhaps insisted on."""
    pattern = draw.word([pattern for pattern, _ in _PATTERNS])
    pool = draw.any([pool for known, pool in _PATTERNS if known == pattern])
    ask = draw.ask([pattern], t=draw.word(pool), p=draw.any(_PHRASES))
    reply = " ".join((draw.say(_SORRY), draw.say(_CAN), draw.say(_LARGER)))
    exchanges = [Exchange(ask, reply, declines())]
    if draw.chance(0.15):
        exchanges.append(Exchange(draw.ask(_BUT), draw.say(_STILL), declines(), True))
    return exchanges
