import { expect, test } from "vitest";
import { changeEverySetting } from "../../../test/support/mesh-model/change-every-setting.ts";

/** Of the choice of fields. */
const SEED = Number(process.env.MODEL_SEED ?? 21);

test("whichever field of MeshConfig changes, what is sent is what a new control plane would send", async () => {
  const { changed, shown } = await changeEverySetting({ seed: SEED, isDeep: false });
  expect(changed.length).toBeGreaterThan(30);
  // Without a difference to be seen there would be nothing to compare.
  expect(shown.length).toBeGreaterThan(changed.length * 0.3);
}, 180_000);
