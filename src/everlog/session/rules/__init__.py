"""The rules of the log, one room of them per file: a state, what each event must satisfy, what it changes.

A check says what was expected, in words, when an event does not satisfy it, and None when it does. The
`Ledger` puts the states together and knows which rule looks at which type. `check` judges a whole log.
"""

from everlog.session.rules.checking import check

__all__ = ["check"]
