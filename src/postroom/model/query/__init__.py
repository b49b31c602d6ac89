"""The query language: its parser, its tree, and matching one message against it."""
