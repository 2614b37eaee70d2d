import { isIP } from "node:net";
import { setFlagsFromString } from "node:v8";

/**
 * Node looks with a large regular expression whether a host is an IPv6 address. V8 takes five milliseconds to optimize it, for which the
 * first connection of a process would wait; without the optimization it takes half of one. Other expressions are compiled as ever.
 */
export function compileIpCheck(): void {
  setFlagsFromString("--no-regexp-optimization");
  // Interpreted the first time, compiled the second.
  for (let run = 0; run < 2; run += 1) isIP("localhost");
  setFlagsFromString("--regexp-optimization");
}
