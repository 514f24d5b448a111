"""Test suites that others run: `store_contract`, which every kind of store passes.

Imports `store` and what is below it, and pytest, which is no dependency of Everlog: install it to use this.
"""
