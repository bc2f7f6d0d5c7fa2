"""Which methods there are: one explicit dict, and the entry points of other packages."""

from __future__ import annotations

from rdforget.methods.base import Method
from rdforget.methods.rd_forget import RD_FORGET
from rdforget.plugins import Registry

METHODS: Registry[Method] = Registry("method", "rdforget.methods", {RD_FORGET.name: RD_FORGET})
