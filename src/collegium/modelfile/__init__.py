"""Model files: fitted records in one file that is safe to open."""
