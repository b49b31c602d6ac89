"""Rules that the server runs on arriving mail: compiled to Sieve, kept over ManageSieve."""
