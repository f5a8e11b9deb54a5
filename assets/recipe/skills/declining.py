"""Everything else: the model says what it is, what it can do, and how to load a larger one."""

from __future__ import annotations

from assets.recipe import words
from assets.recipe.conversation import Check, Exchange
from assets.recipe.draw import Draw
from assets.recipe.wording import read_wording

_WORDING = read_wording("declining")
_PEOPLE = (
    "Napoleon", "Marie Curie", "Einstein", "Mozart", "Shakespeare", "Newton", "Galileo", "Columbus",
    "Darwin", "Gandhi", "Picasso", "Beethoven", "Julius Caesar", "Queen Victoria", "Charlemagne",
    "Aristotle", "Confucius", "Frida Kahlo", "Nelson Mandela", "Ada Lovelace", "Hannibal", "Goethe",
)  # fmt: skip
_COUNTRIES = (
    "France", "Italy", "Spain", "Canada", "Australia", "India", "China", "Egypt", "Kenya", "Peru",
    "Chile", "Mexico", "Poland", "Sweden", "Norway", "Greece", "Turkey", "Portugal", "Ireland", "Finland",
    "Argentina", "Nigeria", "Morocco", "Vietnam", "Thailand", "New Zealand",
)  # fmt: skip
_SCIENCE = (
    "gravity", "electricity", "magnetism", "volcanoes", "rainbows", "thunder", "glaciers", "galaxies",
    "comets", "atoms", "molecules", "cells", "evolution", "the water cycle", "evaporation", "radio waves",
    "lasers", "batteries", "nuclear power", "solar panels", "satellites", "telescopes", "the heart",
    "the brain", "digestion", "sleepwalking", "memory", "hormones", "vitamins", "antibiotics", "fossils",
    "dinosaurs", "oxygen", "rust", "friction", "sound", "mirages", "hurricanes", "neural networks",
    "the internet", "encryption", "compilers", "databases",
)  # fmt: skip
_HISTORY = (
    "the First World War", "the Renaissance", "the Middle Ages", "the Vikings", "the Aztecs",
    "the Industrial Revolution", "the Silk Road", "the Cold War", "the Olympic Games",
    "the printing press", "the Great Wall", "the Titanic", "the Black Death", "the Space Race",
    "ancient Greece", "the pyramids", "the samurai", "the Reformation", "the Russian Revolution",
    "the Crusades", "democracy", "money", "the alphabet",
)  # fmt: skip
_ADVICE = (
    "lose weight", "save money", "write a novel", "find a flat", "pass my exam", "remove a coffee stain",
    "fix a dripping shower", "paint a room", "choose a school", "train my dog", "quit smoking",
    "stay motivated", "make new friends", "give a speech", "grow tomatoes", "clean an oven",
    "sharpen a knife", "pack for a holiday", "buy a house", "start a company", "get over a break-up",
    "cure a headache", "cook rice", "bake sourdough", "boil an egg", "learn French", "play the piano",
    "draw a face", "knit a jumper", "change a tyre on my car", "file my taxes", "build a shed",
    "become a pilot", "speak better English", "stop worrying", "get a visa", "edit a video",
    "take better photos", "lift weights", "meditate",
)  # fmt: skip
_TEXTS = (
    "essay about friendship", "blog post about travel", "speech for a wedding", "press release",
    "business plan", "review of a film", "novel in ten chapters", "letter to my bank",
    "report on air pollution", "birthday card", "product description", "script for a play",
    "CV for a chef", "complaint to an airline", "song about love", "limerick", "haiku about rain",
    "newspaper article about elections", "summary of a long book", "thank-you letter to my aunt",
    "diary entry", "technical manual", "invitation to a party", "motivational speech",
    "advert for a shoe shop",
)  # fmt: skip
_LANGUAGES = (
    "German", "Italian", "Portuguese", "Russian", "Chinese", "Arabic", "Dutch", "Polish", "Latin",
    "Greek", "Turkish", "Hindi", "Korean", "Swedish",
)  # fmt: skip
_PHRASES = (
    "I love you", "see you tomorrow", "how much is it", "I am hungry", "happy birthday",
    "the cat is asleep", "thank you very much", "good night", "open the window", "my bag is red",
    "I would like a coffee", "this is my brother", "hello", "yes", "water", "the weather is nice",
)  # fmt: skip
# What is asked about, by the name of the wording that asks it; the other kinds of questions have no subject.
_SUBJECTS: dict[str, tuple[str, ...]] = {
    "people": _PEOPLE, "countries": _COUNTRIES, "science": _SCIENCE, "history": _HISTORY, "advice": _ADVICE,
    "texts": _TEXTS, "languages": _LANGUAGES, "cities": words.CITIES, "animals": words.ANIMALS,
    "foods": words.FOODS, "words": words.WORDS, "jobs": words.JOBS, "colours": words.COLOURS,
}  # fmt: skip
_KINDS = ("people", "countries", "countries", "science", "science", "science", "history", "history", "advice",
          "advice",
          "advice", "texts", "languages", "cities", "animals", "foods", "words", "jobs", "colours", "maths",
          "other_code",
          "personal", "personal")  # fmt: skip


def declines() -> Check:
    """The reply owns up and names the way to a larger model."""
    return lambda reply: "--model_path" in reply and "small" in reply


def compose(draw: Draw) -> list[Exchange]:
    """A question beyond the model, perhaps insisted on."""
    kind = draw.any(_KINDS)
    subject = draw.any(_SUBJECTS.get(kind, ("",)))
    ask = draw.ask(_WORDING[kind], t=subject, p=draw.any(_PHRASES))
    reply = " ".join(draw.say(_WORDING[part]) for part in ("sorry", "can", "larger"))
    exchanges = [Exchange(ask, reply, declines())]
    if draw.chance(0.15):
        exchanges.append(Exchange(draw.ask(_WORDING["but"]), draw.say(_WORDING["still"]), declines(), True))
    return exchanges
