"""Permissions: modes, rules, and where paths lead. Decides whether a call runs, is refused, or is asked about.

One policy for the hook `POLICY`; nothing in the pipeline knows of it.
"""

from everlog.tools.permissions.modes import MODES, Mode
from everlog.tools.permissions.policy import Permissions
from everlog.tools.permissions.rules import Rule, RuleInvalid
from everlog.tools.permissions.settings import PermissionSettings

__all__ = ["MODES", "Mode", "PermissionSettings", "Permissions", "Rule", "RuleInvalid"]
