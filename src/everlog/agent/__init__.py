"""Inbox and loop: owns the order of a turn and none of the capabilities that it orders.

Reaches models, tools, prompts and stores through services: imports `kernel` and `session`, and of the rooms
between only each one's `seam`, never a provider.
"""
