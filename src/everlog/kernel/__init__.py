"""Plugins, services by type, typed hooks, scopes, discovery and configuration.

Knows nothing of agents, sessions or models, and imports no other room.
"""
