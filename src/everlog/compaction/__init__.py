"""Compaction: makes what the model sees shorter and never touches the log.

Imports `kernel`, `session` and `store`, and of the other capabilities their `seam` only.
"""
