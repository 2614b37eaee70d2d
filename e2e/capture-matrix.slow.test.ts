import { beforeEach, describe, expect, test } from "vitest";
import { goldenPath, needsGoldenData } from "../test/conformance/golden-data.ts";
import { needs } from "../test/support/needs.ts";
import { BACKENDS } from "../test/support/netns/capture.ts";
import { loadableCases, roundTrip } from "../test/support/netns/golden.ts";

describe.each(BACKENDS)("$backend", ({ flags }) => {
  beforeEach(needs("root", "netns", "iptables", "nft"));
  test("golden data is present", (context) => needsGoldenData(context, goldenPath("iptables")));

  test.concurrent.each(loadableCases())(
    "$generation $name is applied as written, once, and removed without a trace",
    async (entry) => {
      expect(await roundTrip(entry, flags)).toEqual([]);
    },
  );
});
