"""A persistent memory store: forget on purpose, keep history, erase for real."""

from rdforget.store.memory_store import MemoryStore
from rdforget.store.records import Candidate, Category, Decision, Hit, Outcome, Policy, Row, StoreError, Weights
from rdforget.store.times import Clock, parse_time, utc_now

__all__ = [
    "Candidate",
    "Category",
    "Clock",
    "Decision",
    "Hit",
    "MemoryStore",
    "Outcome",
    "Policy",
    "Row",
    "StoreError",
    "Weights",
    "parse_time",
    "utc_now",
]
