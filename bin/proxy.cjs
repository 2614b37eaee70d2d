// Runs `pilot-agent proxy` from one script whose compiled code was kept when it was built: a pod's start does not wait for a compiler.
// Where that code is missing, for example because another version of Node built it, the modules are loaded as for any other command.
"use strict";
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { pathToFileURL } = require("node:url");
const { Script } = require("node:vm");

const dist = join(__dirname, "../dist");
const run = preparedScript();
if (run === undefined) import(pathToFileURL(join(dist, "main.js")).href);
// In a turn of its own: no turn of the event loop is to be long, not even the first.
else setImmediate(run, {}, require, { exports: {} }, join(dist, "proxy.cjs"), dist);

function preparedScript() {
  // Log lines that name source files need the maps of the modules.
  if (process.argv.some((word) => /^--log_(caller|stacktrace_level)\b/.test(word))) return undefined;
  try {
    const cachedData = readFileSync(join(dist, `proxy-${process.versions.v8}-${process.arch}.cache`));
    const filename = join(dist, "proxy.cjs");
    return new Script(readFileSync(filename, "latin1"), { filename, cachedData }).runInThisContext();
  } catch (failure) {
    if (failure.code === "ENOENT") return undefined;
    throw failure;
  }
}
