import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { errorText, type HttpAnswer, type HttpHandler } from "../net/http-server/http-types.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

/** Scripts, styles and answers come from this server alone; nothing is framed, and nothing written into the page can run. */
export const PAGE_HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
} as const;

/** How deep a source file lies below the project, at most. */
const MAX_DEPTH = 4;

/** The page is in `dist/console`. The bundle lies in `dist` or in a folder of it; run from source, a module lies anywhere below the project. */
export function consolePageFolder(module: string): string {
  const here = dirname(fileURLToPath(module));
  const above = [here];
  while (above.length < MAX_DEPTH) above.push(dirname(above.at(-1) ?? here));
  const candidates = above.flatMap((folder) => [join(folder, "console"), join(folder, "dist", "console")]);
  return candidates.find((folder) => existsSync(join(folder, "index.html"))) ?? join(here, "console");
}

interface PageFile {
  readonly body: Buffer;
  readonly type: string;
  readonly tag: string;
}

/** The files of a folder, read once and by name: a path that is not one of them is not there, whatever is in it. */
export function createPageFiles(folder: string): HttpHandler {
  let files: ReadonlyMap<string, PageFile> | undefined;
  return ({ path, method, headers }): HttpAnswer => {
    if (method !== "GET" && method !== "HEAD") return errorText(405, "Method Not Allowed", { Allow: "GET, HEAD" });
    files ??= readPage(folder);
    if (files.size === 0) return errorText(503, `the console's page is not there (${folder}); run npm run build`);
    const file = files.get(path === "/" ? "/index.html" : path);
    if (file === undefined) return errorText(404, "404 page not found");
    const cached = { "Cache-Control": "no-cache", ETag: file.tag };
    if (headers["if-none-match"] === file.tag) return { status: 304, headers: cached };
    return { status: 200, contentType: file.type, headers: cached, body: file.body };
  };
}

function readPage(folder: string): ReadonlyMap<string, PageFile> {
  const names = statSync(folder, { throwIfNoEntry: false })?.isDirectory()
    ? readdirSync(folder, { recursive: true, encoding: "utf8" })
    : [];
  return new Map(
    names.flatMap((name) => {
      const type = TYPES[extname(name)];
      if (type === undefined || !statSync(join(folder, name)).isFile()) return [];
      const body = readFileSync(join(folder, name));
      const tag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
      return [[`/${name}`, { body, type, tag }] as const];
    }),
  );
}
