"""The rules of the log, one per file: each module holds one rule with its check."""
