"""The vocabulary that the skills draw on: names, things, places, and plain words to sort and copy."""

from __future__ import annotations


def _split(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.split()))


NAMES = _split("""
Ada Ali Amira Anna Ben Bella Carla Carlos Chen Clara Daniel Dina Elena Eli Emma Erik Fatima Felix Finn Freya
George Grace Hana Hugo Ida Igor Ines Iris Ivan Jack Jana Jonas Julia Kai Karim Kate Lars Lea Leo Lily Lina
Lucas Lucy Maja Marco Maria Max Maya Mia Mila Mina Nadia Nils Nina Noah Nora Olga Oliver Omar Oscar Paul
Petra Pia Priya Rania Ravi Rosa Ruth Sam Sara Sofia Stella Tariq Tessa Theo Tim Tom Uma Vera Victor Wanda
Will Yara Yusuf Zara Zoe
""")

ANIMALS = _split("""
badger bear beaver bird camel cat cow crab crow deer dog dolphin donkey dragon duck eagle elephant fish fox
frog giraffe goat goose hamster hare hedgehog horse kitten koala lamb lion lizard mole monkey mouse octopus
otter owl panda parrot penguin pig pony puppy rabbit raven robin seal sheep snail spider squirrel swan tiger
turtle whale wolf
""")

OBJECTS = _split("""
apples pears plums lemons oranges cookies muffins eggs buttons stamps coins marbles shells stones pencils
pens books cards balloons flowers roses tickets stickers beads candles bottles boxes cups plates chairs keys
ribbons toys kites nuts carrots potatoes onions tomatoes cakes sandwiches photos magazines postcards badges
pins tiles bricks bulbs
""")

CITIES = _split("""
Oslo Rome Paris Madrid Cairo Delhi Lima Quito Athens Dublin Prague Warsaw Riga Zurich Geneva Bergen Porto
Seville Turin Milan Lyon Hamburg Munich Leeds York Bristol Boston Denver Austin Dallas Toronto Kyoto Osaka
Seoul Hanoi Nairobi
""")

JOBS = _split("""
teacher baker nurse doctor farmer painter writer driver pilot singer dancer gardener carpenter plumber
lawyer engineer librarian waiter tailor chemist judge actor cook sailor
""")

COLOURS = _split("red blue green yellow orange purple pink brown black white grey silver golden violet turquoise")

FOODS = _split("""
bread butter cheese milk rice pasta soup salad honey jam tea coffee sugar salt flour yoghurt bananas grapes
peas beans mushrooms garlic pepper oil vinegar juice water ham tofu noodles chocolate biscuits olives corn
cherries
""")

WORDS = _split("""
anchor angle answer apple arrow autumn avenue bag ball bamboo basket beach bell bench bicycle blanket boat
bone book bottle bowl branch brave bread bridge bright broom brush bucket button cable calm camera candle
canvas carpet castle chair chalk cheese cherry circle city clay clean clever clock cloud coat coffee copper
corner cotton cradle crown curtain dance dawn desert desk diamond dinner door dream drum dust early earth
easel echo edge elbow empty engine evening fabric fair family feather fence field finger fire flag flame
flour flower flute forest fork fresh friend frost fruit garden gate gentle ghost giant glass globe glove
gold grain grape grass gravel guitar hammer hand happy harbour harvest hat heart heavy helmet hill history
honey hope house ice idea iron island ivory jacket jam jar jewel jolly journey jungle kettle key kind king
kitchen kite knee knife ladder lake lamp lantern large leaf leather lemon letter library light linen lock
lucky lunch magic map marble market mask meadow melon metal milk mirror moon morning mountain mouth music
nail narrow nature needle nest night noble noise north notebook ocean olive onion orange orchard oven paint
palace paper parade park pasta path pearl pebble pencil pepper piano picture pillow pine pipe plain planet
plate pocket pond potato powder prize proud purple puzzle queen quick quiet quilt rain rainbow razor reed
ribbon rice ring river road rocket roof room root rope rough round ruler saddle sail salt sand scarf school
sea seed shade shadow shell shield ship shirt shoe short shovel silent silver simple sky sleep slow smoke
smooth snow soap sock soft song soup spark spice spoon spring square stable stage stair star station steam
steel stone storm story strange street string strong sugar summer sun sweet sword table tall tape tea temple
tent thread thunder ticket tiger tile timber toast tower town toy train tree trumpet tunnel umbrella under
valley velvet village violin voice wagon wall warm watch water wave wheat wheel whisper white wild wind
window wing winter wise wolf wonder wood wool yard yarn year yellow young zebra zero
""")


# What the tokenizer writes in several pieces: a small model copies such words, but hardly learns their order.
_IN_PIECES = _split("""
bamboo beach bicycle blanket canvas chalk crown desert diamond elbow fence helmet iron ivory jewel journey lock
lucky magic narrow north oven paper purple queen rainbow ring ruler silent sleep smoke spoon tea umbrella velvet
white wild zero Bella Daniel Eli Hugo Lucas Lucy Mila Nina Pia Theo Yusuf pears buttons stamps shells stones
balloons badges Prague Riga Denver Austin Osaka yoghurt grapes tofu biscuits writer pink brown black grey violet
turquoise
""")


def in_one_piece(pool: tuple[str, ...]) -> tuple[str, ...]:
    """The pool's words that are one piece each: those to put in order."""
    return tuple(word for word in pool if word not in _IN_PIECES)


def article(noun: str) -> str:
    """The noun with its indefinite article."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
