"""Rules that the server runs on incoming mail: compiled to Sieve, stored over ManageSieve."""
