// Preloaded into the agent (NODE_OPTIONS=--require): writes, twice a second, the longest turn of the event loop so far to loop.json, and
// what a fixed piece of work takes here (20 ms where Node starts in 50 ms): their ratio does not depend on the machine.
// What counts is the processor time of the main thread between two ticks of a timer: on a busy machine the time on the clock says
// more about the neighbours. Turns before the file `measure` exists are left out.
const { isMainThread } = require("node:worker_threads");
const { existsSync, openSync, readSync, renameSync, writeFileSync } = require("node:fs");

if (isMainThread && process.argv.includes("proxy")) {
  const file = openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
  const buffer = Buffer.alloc(100);
  const processorMs = () => Number(buffer.toString("latin1", 0, readSync(file, buffer, 0, 100, 0)).split(" ")[0]) / 1e6;
  const before = processorMs();
  work();
  const unitMs = processorMs() - before;
  let [last, longestMs, turns, isMeasuring] = [processorMs(), 0, 0, false];
  setInterval(() => {
    const now = processorMs();
    if (isMeasuring) {
      longestMs = Math.max(longestMs, now - last);
      turns += 1;
    }
    isMeasuring ||= existsSync("measure");
    last = now;
  }, 1).unref();
  setInterval(() => {
    if (!isMeasuring) return;
    // In one step: who reads it must not find half of it.
    writeFileSync("loop.json.new", JSON.stringify({ longestMs, unitMs, turns }));
    renameSync("loop.json.new", "loop.json");
  }, 500).unref();
}

function work() {
  let sum = 1;
  for (let turn = 0; turn < 24_000_000; turn += 1) sum = (sum ^ (sum << 13) ^ turn) | 0;
  return sum;
}
