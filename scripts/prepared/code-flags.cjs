// Compiled code that follows from the sources and from which functions ran. V8 writes hashes of strings into it, which follow from a seed: the
// one of a build is fixed. Code is taken only by processes with the options it was made with, as a hash in its head says; a reader computes string
// hashes anew with a seed of its own, so that the head may say what it would without the option.
"use strict";
const { Script } = require("node:vm");

/** Options of the process that compiles. Code that was not used for a while must not be left out, or what is kept depends on the clock. */
const OPTIONS = ["--hash-seed=1", "--random-seed=1", "--no-flush-bytecode", "--no-opt", "--no-sparkplug"];
/** Where the hash of V8's options is, after the magic number and the hashes of version and source. */
const HASH_AT = 12;
const HASH_BYTES = 4;
const VARIABLE = "PILOT_AGENT_BUILD_V8_OPTIONS";

/** For the environment of that process. Called in one without options. */
function withoutOptions() {
  const head = new Script("0").createCachedData().subarray(HASH_AT, HASH_AT + HASH_BYTES);
  return { [VARIABLE]: head.toString("hex") };
}

/** What the script has compiled by now, as any process without options takes it. */
function compiledCode(script) {
  const code = script.createCachedData();
  Buffer.from(process.env[VARIABLE] ?? "", "hex").copy(code, HASH_AT);
  return code;
}

module.exports = { OPTIONS, compiledCode, withoutOptions };
