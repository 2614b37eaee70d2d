import { beforeEach, describe, expect, test } from "vitest";
import { needs } from "../test/support/needs.ts";
import { BACKENDS } from "../test/support/netns-capture.ts";
import { loadableCases, roundTrip } from "../test/support/netns-golden.ts";

/** One of each kind; the slow suite takes all of them. */
const SAMPLE = ["doc-default-today", "tproxy", "ipv6-ipnets"];

describe.each(BACKENDS)("$backend", ({ flags }) => {
  beforeEach(needs("root", "netns", "iptables", "nft"));

  test.each(loadableCases(SAMPLE))("$name is applied as written, once, and removed without a trace", async (entry) => {
    expect(await roundTrip(entry, flags)).toEqual([]);
  });
});
