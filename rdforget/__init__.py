"""rdforget: what should an agent forget?

The science of the harness: records, suites, the answer-time view, memory construction methods,
calls to models, and scorers. It prints nothing and parses no arguments; `runners` does.
"""

__version__ = "0.1.0"
