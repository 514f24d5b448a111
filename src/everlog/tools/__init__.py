"""Tools: the seam that a tool fills, schemas made from signatures, the registry, and the built-in tools.

Imports `kernel`, `session` and `store`, and of the other capabilities their `seam` only.
"""
