"""Forty thousand robot-arm poses: fit a committee, read its error bars, draw a picture.

The same as `collegium demo`, with the same options.
"""

import sys

from collegium.cli.main import collegium

if __name__ == "__main__":
    collegium.main(["demo", *sys.argv[1:]], prog_name="demo.py")
