"""From the mirror to whoever asks: whether it counts, whom to ask otherwise, and what is noted after a change that was
made through us."""
