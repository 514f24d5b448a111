"""The system prompt: the seam that sections fill, and the sections that ship.

Imports `kernel`, `session` and `store`, and of the other capabilities their `seam` only.
"""
