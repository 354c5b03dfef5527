"""Faults of disks and processes, put in one by one: nothing is lost or changed in silence."""
