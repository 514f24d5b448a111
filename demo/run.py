"""The demonstration that `make demo` runs."""

print("The demonstration is not built yet.")
