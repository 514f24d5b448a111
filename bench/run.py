"""The measurements that `make bench` runs."""

print("Nothing is measured yet.")
