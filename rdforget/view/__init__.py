"""The answer-time view: from an archive `H` to the entries `Z(q)` that one question uses.

One stage a module, in the order in which data flows (Algorithm 1):
`curate` -> `materialize` (eq. 4) -> `eligibility` (eq. 5) -> `rank` -> `select` -> `pack` (eqs. 1-3).
All but the two that ask a model are plain functions of their arguments: no clock, no chance, no I/O.
"""
