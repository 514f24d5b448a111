"""The tools that ship, one per file."""
