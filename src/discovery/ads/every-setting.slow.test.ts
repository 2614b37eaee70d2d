import { expect, test } from "vitest";
import { changeEverySetting } from "../../../test/support/mesh-model/change-every-setting.ts";

/** Without a value that is good in the settings of the test: others have to change with them. */
const FIXED = [
  "defaultConfig.privateKeyProvider.cryptomb.fallback",
  "defaultConfig.privateKeyProvider.qat.fallback",
  "defaultConfig.tracing.lightstep.accessToken",
  "defaultConfig.tracing.lightstep.address",
];

test("whichever field of a message in MeshConfig changes, clients hold what is new", async () => {
  const { changed, unchanged } = await changeEverySetting({ seed: 0, isDeep: true });
  expect([...unchanged].sort()).toEqual(FIXED);
  expect(changed.length).toBeGreaterThan(200);
});
