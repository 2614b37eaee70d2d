import { existsSync } from "node:fs";

/** Debian's, or another distribution's. */
export const CHROMIUM_PATHS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export function chromiumPath(): string | undefined {
  return CHROMIUM_PATHS.find((path) => existsSync(path));
}
