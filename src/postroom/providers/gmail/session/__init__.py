"""Requests to the API: single ones, batches, uploads; what a refusal means."""
