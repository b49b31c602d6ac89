"""One module per dialect: a way of naming the tools over the same service."""
