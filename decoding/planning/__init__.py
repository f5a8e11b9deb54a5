"""Planning of the next step: how many candidates pay at the measured cost of a step, and when to stop guessing."""
