"""The service under load, under kills and under bad requests: `make bench-service`."""
