"""The look of a page: light and dark, wide, narrow and printed."""

LIGHT = """--page:#ffffff;--card:#f5f7f9;--text:#1b1f24;--soft:#57606a;--rule:#d0d7de;
--line:#0069a6;--fill:#0072b2;--odd:#b34700;--grid:#e3e8ed;--good:#116329"""
DARK = """--page:#14171a;--card:#1d2126;--text:#e6e8ea;--soft:#a3adb7;--rule:#3a424a;
--line:#56b4e9;--fill:#56b4e9;--odd:#f0a35c;--grid:#2a3037;--good:#6fd08c"""

STYLE = (
    f":root{{color-scheme:light dark;{LIGHT}}}"
    f"@media (prefers-color-scheme:dark){{:root{{{DARK}}}}}"
    f"@media print{{:root{{color-scheme:light;{LIGHT}}}nav{{display:none}}"
    "figure,tr{break-inside:avoid}h2{break-after:avoid}body{max-width:none}"
    ".scroll{overflow:visible}}"
    """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:70rem;padding:1rem;background:var(--page);color:var(--text);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;
overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0}
h2{font-size:1.25rem;margin:2.2rem 0 .4rem;padding-top:.6rem;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:1.4rem 0 .3rem}
p,li{max-width:46rem}
p{margin:.5rem 0}
a{color:var(--line)}
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1rem;list-style:none;padding:0;margin:.6rem 0;
font-size:.9rem}
.verdict{background:var(--card);border-left:4px solid var(--fill);padding:.4rem 1rem;
border-radius:4px;margin:1rem 0}
.verdict p{font-size:1.05rem}
.note,.soft,figcaption,caption{color:var(--soft)}
.note,figcaption{font-size:.9rem}
.odd{color:var(--odd);font-weight:600}
.good{color:var(--good)}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,20rem),1fr));
gap:.5rem 1.5rem;align-items:start}
figure{margin:.6rem 0;min-width:0}
figcaption{margin-top:.2rem}
svg{display:block;width:100%;height:auto;max-width:27rem;overflow:visible}
td svg{width:7.5rem;min-width:7.5rem;max-width:none}
svg text{font:11px system-ui,"DejaVu Sans",sans-serif;fill:var(--soft)}
svg text.strong{fill:var(--text)}
svg image{image-rendering:pixelated}
.axis{stroke:var(--rule);fill:none}
.grid{stroke:var(--grid);fill:none}
.line{stroke:var(--line);fill:none;stroke-width:2;stroke-linejoin:round}
.band{fill:var(--fill);opacity:.22}
.bar{fill:var(--fill)}
.bar.light{opacity:.35}
.bar.odd{fill:var(--odd)}
.chance{fill:var(--soft);opacity:.3}
.ideal{stroke:var(--soft);stroke-dasharray:4 3;fill:none}
.dot{fill:var(--line);stroke:var(--page)}
.dot.odd{fill:var(--odd)}
.gap{fill:var(--grid)}
.scroll{overflow-x:auto;max-width:100%;margin:.6rem 0}
table{border-collapse:collapse;font-size:.9rem}
caption{text-align:left;padding:.2rem 0;font-size:.9rem}
th,td{text-align:left;padding:.2rem .9rem .2rem 0;border-bottom:1px solid var(--grid);
vertical-align:top;font-weight:400;overflow-wrap:break-word}
thead th{font-weight:600;border-bottom-color:var(--rule);vertical-align:bottom}
tbody th{min-width:7rem;max-width:22rem}
td{min-width:3rem}
.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
pre{overflow-x:auto;background:var(--card);padding:.6rem .8rem;border-radius:4px;
font:13px/1.5 ui-monospace,"DejaVu Sans Mono",monospace;white-space:pre-wrap}
footer{margin-top:2rem;color:var(--soft);font-size:.85rem}
"""
)
