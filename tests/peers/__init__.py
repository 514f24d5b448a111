"""Servers to test against that nobody of this project wrote, and what records what they receive.

A test asks for the fixture `aimock` (in `tests/conftest.py`) and gets an `Aimock`: its `url` is a recorder in
front of the real server, `answer(...)` says what it shall answer, and `bodies` are the bytes that it received.
`llamacpp` is a real llama.cpp server with a real small model behind a recorder. `everlog` talks to both over
HTTP only. What they need is installed once, under a folder that git ignores: by `python -m tests.peers`, as
`make test` does, or by the first test that asks.
"""
