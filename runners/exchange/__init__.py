"""Runs in the formats of other tools, and answers that other tools made."""
