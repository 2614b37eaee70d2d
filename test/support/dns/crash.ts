/** Reaches the workers of one process only, and each test file has its own. */
export const CRASH_CHANNEL = "dns-thread-crash";

/** Every DNS thread of this process dies of an uncaught error. */
export function crashThreads(): void {
  const channel = new BroadcastChannel(CRASH_CHANNEL);
  channel.postMessage("crash");
  channel.close();
}
