"""The command line: commands that render projections and send inputs, and hold no state of their own.

Imports every room but `web`; nothing imports it.
"""
