"""Servers to test against that nobody of this project wrote, and what records what they receive.

A test asks for the fixture `aimock` (in `tests/conftest.py`) and gets an `Aimock`: its `url` is a recorder in
front of the real server, `answer(...)` says what it shall answer, and `bodies` are the bytes that it received.
"""
