"""Fail where a built page would fetch a script, style, font or picture from elsewhere."""

import re
import sys
from pathlib import Path

FETCHED = re.compile(
    r"<(?:script|img|iframe|source|video)\b[^>]*\bsrc=[\"'](?:https?:)?//[^\"']+"
    r"|<link\b[^>]*\brel=[\"'](?:stylesheet|preload|icon|preconnect)[\"'][^>]*href=[\"'](?:https?:)?//[^\"']+"
    r"|url\([\"']?(?:https?:)?//[^)]+|@import\s+[\"'](?:https?:)?//[^\"']+"
)


def fetched(folder: Path) -> list[str]:
    """Files of a site with what each would fetch."""
    files = [path for path in folder.rglob("*") if path.suffix in {".html", ".css"}]
    return [
        f"{path}: {match}"
        for path in files
        for match in FETCHED.findall(path.read_text(encoding="utf-8"))
    ]


if __name__ == "__main__":
    found = fetched(Path(sys.argv[1]))
    print("\n".join(found) or "nothing is fetched from elsewhere")
    sys.exit(bool(found))
