"""Reads and writes other tools' sessions, and exports.

Imports every room above it; no face.
"""
