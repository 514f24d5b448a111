"""The crash lab: children that write to a store are killed, or their disk fails, at every place it can."""
