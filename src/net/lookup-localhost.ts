import type { LookupFunction } from "node:net";

/** Both loopback addresses for `localhost`, without asking a resolver that may be captured or absent. */
export const lookupLocalhost: LookupFunction = (_hostname, options, callback) => {
  const addresses = [
    { address: "127.0.0.1", family: 4 },
    { address: "::1", family: 6 },
  ];
  // Never at once: a connection that fails at once would do so before the request listens, and end the program.
  if (options.all) setImmediate(callback, null, addresses);
  else setImmediate(callback, null, "127.0.0.1", 4);
};
