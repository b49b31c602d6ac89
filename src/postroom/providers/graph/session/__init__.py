"""Requests to the service: single ones, batches, uploads; what a refusal means."""
