// Runs `pilot-agent proxy` from scripts whose compiled code was kept when they were built: a pod's start does not wait for a compiler.
// Where that code is missing, for example because another version of Node built it, the modules are loaded as for any other command.
"use strict";
const { readFileSync } = require("node:fs");
const { Script } = require("node:vm");

const dist = `${__dirname}/../dist`;
// Log lines that name source files need the maps of the modules.
const needsMaps = process.argv.some((word) => /^--log_(caller|stacktrace_level)\b/.test(word));
const start = needsMaps ? undefined : prepared("proxy.cjs");
if (start === undefined) import("../dist/main.js");
// In a turn of its own: no turn of the event loop is to be long, not even the first.
else setImmediate(start, require, prepared, dist);

/** The value of a script, undefined without its code. */
function prepared(name) {
  const filename = `${dist}/${name}`;
  try {
    const cachedData = readFileSync(`${filename}-${process.versions.v8}-${process.arch}.cache`);
    return new Script(readFileSync(filename, "latin1"), { filename, cachedData }).runInThisContext();
  } catch (failure) {
    if (failure.code === "ENOENT") return undefined;
    throw failure;
  }
}
