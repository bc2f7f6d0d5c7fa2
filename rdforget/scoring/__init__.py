"""Scorers: an answer and its gold in, a score out; None where no evaluation completed."""
