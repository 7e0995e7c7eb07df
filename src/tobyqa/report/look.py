"""How the report looks: light or dark as the reader has it, and on paper."""

STYLE = """\
:root {
  color-scheme: light dark;
  --ink: #1c1e21; --quiet: #55595e; --paper: #fff; --panel: #f3f6f9;
  --line: #d9dde1; --accent: #0072b2;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6e8ea; --quiet: #a4abb2; --paper: #16181b; --panel: #20242a;
    --line: #3a4048; --accent: #56b4e9;
  }
}
* { box-sizing: border-box; }
body {
  max-width: 62rem; margin: 2rem auto; padding: 0 1.25rem;
  font: 1rem/1.55 system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  color: var(--ink); background: var(--paper);
}
header p { margin: 0; color: var(--quiet); font-size: .9rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 0 0 .8rem; }
section { margin: 2rem 0; }
#answer {
  background: var(--panel); border-left: .3rem solid var(--accent);
  padding: 1.2rem 1.4rem; border-radius: .3rem;
}
.set {
  font-size: 1.25rem; font-weight: 600; margin: 0 0 1rem; overflow-wrap: anywhere;
}
dl { display: grid; grid-template-columns: minmax(9rem, max-content) 1fr;
  gap: .35rem 1.2rem; margin: 0 0 1.3rem; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
pre {
  margin: .5rem 0 0; padding: .5rem .7rem; white-space: pre-wrap;
  background: var(--paper); border: 1px solid var(--line); border-radius: .3rem;
  font-size: .85rem;
}
code { font-size: .9em; }
figure { margin: 0 0 1.8rem; }
/* Pictures are drawn on white and stay so in the dark. */
figure img {
  display: block; width: 100%; height: auto; background: #fff; padding: .4rem;
  border: 1px solid var(--line); border-radius: .3rem;
}
figcaption, .note, caption { color: var(--quiet); font-size: .9rem; }
figcaption { margin-top: .4rem; }
.note { margin: .5rem 0 0; }
caption { text-align: left; margin-bottom: .3rem; }
table {
  border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums;
}
th, td { padding: .25rem .6rem; text-align: right; vertical-align: top; }
th { font-weight: 600; }
tbody th { font-weight: 400; }
.text { text-align: left; }
thead th { border-bottom: 1px solid var(--ink); vertical-align: bottom; }
tbody tr + tr > * { border-top: 1px solid var(--line); }
.wide { overflow-x: auto; }
.scroll { overflow: auto; max-height: 34rem; border: 1px solid var(--line);
  border-radius: .3rem; padding: 0 .3rem .3rem; }
.scroll caption { margin: .3rem; }
.scroll thead th { position: sticky; top: 0; background: var(--paper); }
.scroll td { white-space: nowrap; }
.scroll td.text { white-space: normal; min-width: 9rem; }
.beside { display: flex; flex-wrap: wrap; gap: 1rem 3rem; align-items: start; }
.beside td { overflow-wrap: anywhere; }
@media (max-width: 36rem) {
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .5rem; }
}
@media print {
  :root {
    --ink: #000; --quiet: #333; --paper: #fff; --panel: #fff; --line: #bbb;
    --accent: #000;
  }
  body { margin: 0; max-width: none; font-size: 10pt; }
  .scroll { max-height: none; overflow: visible; border: 0; padding: 0; }
  .scroll thead th { position: static; }
  #answer, figure, tr { break-inside: avoid; }
  thead { display: table-header-group; }
}
"""
