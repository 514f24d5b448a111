"""Makes sessions durable: a synchronous core with one writer thread per store, and an async face on it.

Imports `kernel` and `session`.
"""
