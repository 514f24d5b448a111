"""The built-in projections, one per file; each file gives its fold as `PROJECTION`."""
