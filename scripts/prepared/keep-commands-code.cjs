// keep-commands-code.cjs DIST RUNS: runs the script of DIST with one command line of RUNS (JSON) after the other, and keeps what V8 has
// compiled by then.
"use strict";
const { readFileSync, renameSync, writeFileSync } = require("node:fs");
const { Script } = require("node:vm");

const [dist, runs] = process.argv.splice(2);
const filename = `${dist}/commands.cjs`;
const script = new Script(readFileSync(filename, "latin1"), { filename });
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
    writeFileSync(`${file}.tmp`, script.createCachedData());
    renameSync(`${file}.tmp`, file);
    exit(0);
  }
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...line);
  start(require, undefined, dist);
}
