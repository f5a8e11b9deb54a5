"""Numbers alone: worked arithmetic, facts about a number, rows that are counted."""
