"""The Model Context Protocol, both ways: tools of other servers for agents, and sessions for other clients.

Imports the kernel, the session, the seams of stores and tools, and the official SDK (extra `mcp`) where one is used.
"""
