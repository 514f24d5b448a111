"""The web face: pages that render projections and send inputs, and hold no state of their own.

Imports every room but `cli`; nothing imports it.
"""
