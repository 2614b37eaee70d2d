// keep-commands-code.cjs DIST NAME RUNS: runs the script NAME of DIST with one command line of RUNS (JSON) after the other, and keeps what V8 has
// compiled by then.
"use strict";
const { readFileSync, renameSync, writeFileSync } = require("node:fs");
const { Script } = require("node:vm");
const { compiledCode } = require("./code-flags.cjs");

const [dist, name, runs] = process.argv.splice(2);
const filename = `${dist}/${name}`;
// The name is in the code too: that of the folder of one build would make it another in the next.
const script = new Script(readFileSync(filename, "latin1"), { filename: name });
const start = script.runInThisContext();
const words = JSON.parse(runs);
const exit = process.exit;
process.exit = (code) => {
  if (code !== 0) exit(code);
  next();
};
next();

function next() {
  const line = words.shift();
  if (line === undefined) {
    const file = `${filename}-${process.versions.v8}-${process.arch}.cache`;
    writeFileSync(`${file}.tmp`, compiledCode(script));
    renameSync(`${file}.tmp`, file);
    exit(0);
  }
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...line);
  start(require, undefined, dist);
}
