"""Models: the seam that adapters fill, the assembler of streamed answers, and the providers that ship.

Imports `kernel`, `session` and `store`, and of the other capabilities their `seam` only.
"""
