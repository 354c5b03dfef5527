"""The command line `collegium`: whole jobs on files, for shells and scripts."""
