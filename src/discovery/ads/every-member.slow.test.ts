import { expect, test } from "vitest";
import { changeEveryMember } from "../../../test/support/mesh-model/change-every-member.ts";

test("whichever value a member of a service, endpoint or workload gets and loses again, clients hold what is new", async () => {
  const shown = await changeEveryMember({ isDeep: true });
  expect(shown.length).toBeGreaterThan(30);
});
