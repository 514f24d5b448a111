"""The list of sessions and the words for search, as SQLite tables.

They are a part of the database of one kind of store, and a side file of another's.
"""
