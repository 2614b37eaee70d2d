import "../../../src/dns/worker-entry.ts";
import { CRASH_CHANNEL } from "./crash.ts";

/** The program of a DNS thread that can be made to fail from the main thread, in the middle of its work. */
const channel = new BroadcastChannel(CRASH_CHANNEL);
channel.onmessage = () => {
  setImmediate(() => {
    throw new Error("made to fail");
  });
};
// Unreferenced, the channel does not keep a stopped worker alive.
channel.unref();
