/** What the front answers for every request: JSON for programs, a page for people. */
export interface ShopAnswer {
  readonly shop?: string | undefined;
  readonly catalogue: unknown;
  /** The shop without Envoy has none. */
  readonly stock?: unknown;
  readonly price: unknown;
}

/** A browser asks for HTML first; everything else gets JSON. */
export function wantsPage(accept: string | undefined): boolean {
  return /^\s*text\/html/.test(accept ?? "");
}

/**
 * The shop as a page: what it sells, which workload answered each part, and as whom it was asked. It asks for the JSON again every
 * second, so that a shifted version or a fault shows while one looks.
 */
export function shopPage(answer: ShopAnswer, consoleUrl: string | undefined): string {
  // Inside a script element only these can end it; the rest is JSON.
  const first = JSON.stringify(answer)
    .replace(/</g, "\\u003c")
    .replace(/\u2028|\u2029/g, "");
  const about =
    answer.stock === undefined
      ? "Small programs without sidecars: they ask their agents where to call, and make the mutual TLS connections themselves."
      : "Four small programs that know nothing of a mesh. Each has a sidecar, and every call between them goes through two of those.";
  const link =
    consoleUrl === undefined
      ? "<span><code>pilot-agent mesh console</code> prints the link to the console</span>"
      : `<a href="${escapeHtml(consoleUrl)}">Open the console</a>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="dark light">
<title>The shop</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<header><h1>The shop</h1><p>${about}</p></header>
<section class="goods" id="goods" aria-label="Products" aria-live="off"></section>
<section aria-label="Who answered"><h2>Who answered</h2><div class="parts" id="parts"></div></section>
<section aria-label="Versions"><h2>Catalogue of the last requests</h2><div class="strip" id="strip"></div><p class="quiet" id="shares"></p></section>
<footer>${link}<span class="quiet">curl gets the same as JSON</span></footer>
</main>
<script>const first = ${first};
${SCRIPT}</script>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const STYLE = `
:root{color-scheme:dark light;--back:#f3f6f9;--card:#fff;--line:#d8e0e8;--text:#14202b;--muted:#51616f;--accent:#08766a;--ok:#15743a;--bad:#bf2f26;--v1:#0b8f80;--v2:#7250d8;--v3:#b36f00}
@media (prefers-color-scheme:dark){:root{--back:#0c1117;--card:#121a22;--line:#263340;--text:#e8eef4;--muted:#9fb0c0;--accent:#34d3bc;--ok:#4ade80;--bad:#ff7b72;--v1:#34d3bc;--v2:#a78bfa;--v3:#fbbf4d}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:880px;margin:0 auto;padding:48px 24px;display:grid;gap:36px}
h1{margin:0 0 4px;font-size:32px;letter-spacing:-.02em}
h2{margin:0 0 12px;font-size:15px;color:var(--muted);font-weight:600}
p{margin:0;max-width:60ch}
.quiet{color:var(--muted);font-size:14px}
.goods{display:grid;grid-template-columns:repeat(auto-fill,minmax(190px,1fr));gap:14px}
.good,.part{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:16px 18px}
.good b{display:block;font-size:19px;text-transform:capitalize}
.good span{color:var(--muted);font-size:14px}
.parts{display:grid;gap:10px}
.part{display:grid;grid-template-columns:110px 1fr auto;gap:14px;align-items:center;padding:12px 18px}
.part b{font-weight:600}
.part .who{font-size:14px;color:var(--muted);overflow-wrap:anywhere}
.part .who i{font-style:normal;color:var(--ok)}
.part.failed{border-color:var(--bad)}
.part.failed .by{color:var(--bad)}
.strip{display:flex;gap:3px;height:34px}
.strip span{flex:1;max-width:14px;border-radius:3px;background:var(--line)}
.strip .v1{background:var(--v1)}.strip .v2{background:var(--v2)}.strip .v3{background:var(--v3)}.strip .failed{background:var(--bad)}
footer{display:flex;flex-wrap:wrap;gap:8px 20px;align-items:baseline;border-top:1px solid var(--line);padding-top:18px}
a{color:var(--accent);font-weight:600}
code{font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:14px}
@media (max-width:560px){.part{grid-template-columns:1fr auto}.part .who{grid-column:1/-1}}
`;

/** Texts are set as texts, never as markup: what other programs answered is not trusted. */
const SCRIPT = `
const byId = (id) => document.getElementById(id);
const add = (to, tag, text, name) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (name) element.className = name;
  to.append(element);
  return element;
};
const seen = [];
const show = (shop) => {
  const { catalogue = {}, stock = {}, price = {} } = shop;
  const goods = byId("goods");
  goods.replaceChildren();
  for (const product of catalogue.products ?? []) {
    const card = add(goods, "div", undefined, "good");
    add(card, "b", product);
    const cents = price.cents === undefined ? "no price" : (price.cents / 100).toFixed(2) + " €";
    const left = stock.pieces?.[product];
    add(card, "span", cents + (shop.stock === undefined ? "" : stock.error ? ", stock unknown" : left === undefined ? ", none left" : ", " + left + " left"));
  }
  if (catalogue.error) add(add(goods, "div", undefined, "good"), "span", "The catalogue does not answer.");
  const parts = byId("parts");
  parts.replaceChildren();
  const part = (name, answer, by) => {
    const line = add(parts, "div", undefined, answer.error ? "part failed" : "part");
    add(line, "b", name);
    const who = add(line, "span", undefined, "who");
    if (answer.error) who.textContent = answer.error;
    else if (answer.caller) {
      who.append("saw the caller as ");
      add(who, "i", answer.caller);
    } else who.textContent = "gRPC over mutual TLS";
    add(line, "span", answer.error ? "failed" : by, "by");
  };
  part("catalogue", catalogue, "version " + catalogue.version);
  if (shop.stock !== undefined) part("stock", stock, stock.servedBy ?? "");
  part("prices", price, price.servedBy ?? "");
  seen.push(catalogue.error ? "failed" : catalogue.version);
  if (seen.length > 50) seen.shift();
  const strip = byId("strip");
  strip.replaceChildren();
  for (const version of seen) add(strip, "span", undefined, version).title = version;
  const counts = {};
  for (const version of seen) counts[version] = (counts[version] ?? 0) + 1;
  byId("shares").textContent = Object.entries(counts).sort().map(([version, count]) => version + ": " + Math.round((count / seen.length) * 100) + "%").join(", ");
};
show(first);
setInterval(async () => {
  try {
    show(await (await fetch(location.href, { headers: { accept: "application/json" } })).json());
  } catch {
    show({ catalogue: { error: "the front does not answer" }, stock: { error: "" }, price: { error: "" } });
  }
}, 1000);
`;
