"""One module per dialect: a set of tool names over the same service."""
