// Preloaded into the program under test: prints each of its own files as it is loaded.
import { register } from "node:module";

register(
  `data:text/javascript,${encodeURIComponent(`
    import { fileURLToPath } from "node:url";
    import { writeSync } from "node:fs";
    export async function load(url, context, next) {
      if (url.startsWith("file:")) writeSync(1, "loaded " + fileURLToPath(url) + "\\n");
      return next(url, context);
    }`)}`,
);
