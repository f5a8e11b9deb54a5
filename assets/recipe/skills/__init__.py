"""The skills, room by room: each composes exchanges from a Draw, and knows when a reply to them is right."""
