"""The verifier on bugs that were put in on purpose, on correct code, and on a real trainer."""
