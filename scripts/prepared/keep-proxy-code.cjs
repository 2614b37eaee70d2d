// keep-proxy-code.cjs DIST proxy ...: runs the scripts of DIST until the agent is ready, and keeps what V8 has compiled by then. The names of
// the modules that were loaded are in seen.json of the working directory.
"use strict";
const { existsSync, readFileSync, renameSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const { Script } = require("node:vm");
const { compiledCode } = require("./code-flags.cjs");

/** Time for what follows the start. */
const SETTLE_MS = 100;
const [dist] = process.argv.splice(2, 1);
const scripts = new Map();
const seen = new Set();
prepared("proxy.cjs")(require, prepared, dist, seen);
const timer = setInterval(() => {
  if (!existsSync("ready")) return;
  clearInterval(timer);
  setTimeout(() => {
    // The first one last: without it nobody looks for the other.
    for (const [name, script] of [...scripts].reverse()) {
      const file = join(dist, `${name}-${process.versions.v8}-${process.arch}.cache`);
      writeFileSync(`${file}.tmp`, compiledCode(script));
      renameSync(`${file}.tmp`, file);
    }
    writeFileSync("seen.json", JSON.stringify([...seen]));
    // The stand-in ends with the agent, however that ends.
    process.exit(0);
  }, SETTLE_MS);
}, 20);

function prepared(name) {
  // The name is in the code too: that of the folder of one build would make it another in the next.
  const script = new Script(readFileSync(join(dist, name), "latin1"), { filename: name });
  scripts.set(name, script);
  return script.runInThisContext();
}
