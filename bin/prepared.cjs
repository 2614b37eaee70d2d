// Runs a command from scripts whose compiled code was cached when they were built: a pod's start does not wait for a compiler.
// Where that code is missing, for example because another version of Node built it, the modules are loaded as for any other command.
"use strict";
require("./check-node.cjs");
const { closeSync, openSync, readFileSync } = require("node:fs");
const { Script } = require("node:vm");

const dist = `${__dirname}/../dist`;
const isProxy = process.argv[2] === "proxy";
const scripts = { proxy: "proxy.cjs", analyze: "analysis.cjs", discovery: "analysis.cjs", simulate: "analysis.cjs" };
// Read when it is needed, maybe in weeks: by then another version may be installed here.
let rare;
// Log lines that name source files need the maps of the modules.
const needsMaps = process.argv.some((word) => /^--log_(caller|stacktrace_level)\b/.test(word));
const start = needsMaps ? undefined : prepared(scripts[process.argv[2]] ?? "commands.cjs");
if (start === undefined) import("../dist/main.js");
// In a turn of its own: no turn of the event loop of a server is to be long, not even the first.
else if (isProxy) {
  rare = openSync(`${dist}/proxy-rare.cjs`);
  setImmediate(start, require, prepared, dist);
} else start(require, prepared, dist);

/** The value of a script, undefined without its code. */
function prepared(name) {
  const filename = `${dist}/${name}`;
  if (name === "proxy-rare.cjs") {
    const text = readFileSync(rare, "latin1");
    closeSync(rare);
    return new Script(text, { filename }).runInThisContext();
  }
  try {
    const cachedData = readFileSync(`${filename}-${process.versions.v8}-${process.arch}.cache`);
    if (process.execArgv.some((word) => word.startsWith("--max-old-space-size="))) allowHeapLimit(cachedData);
    return new Script(readFileSync(filename, "latin1"), { filename, cachedData }).runInThisContext();
  } catch (failure) {
    if (failure.code === "ENOENT") return undefined;
    throw failure;
  }
}

/**
 * V8 refuses code that was compiled under other flags than its own. The heap's limit is one of them and changes no code: the hash of the
 * flags, the fourth word, becomes the one of this process. Were it another word in some version, V8 would refuse the code and compile.
 */
function allowHeapLimit(cachedData) {
  const FLAG_HASH = 12;
  new Script("").createCachedData().copy(cachedData, FLAG_HASH, FLAG_HASH, FLAG_HASH + 4);
}
