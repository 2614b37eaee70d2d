import { expect, test } from "vitest";
import { changeEveryMember } from "../../../test/support/mesh-model/change-every-member.ts";

test("whichever member of a service, endpoint or workload changes, what is sent is what a new control plane would send", async () => {
  const shown = await changeEveryMember({ isDeep: false });
  // Without a difference to be seen there would be nothing to compare.
  expect(shown.length).toBeGreaterThan(30);
}, 180_000);
