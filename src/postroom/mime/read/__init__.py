"""Bytes to model: headers, structure, bodies, character sets."""
