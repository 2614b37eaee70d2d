import { expect, test } from "vitest";
import { changeEveryField } from "../../../test/support/mesh-model/change-every-field.ts";
import { KINDS, type Kind } from "../../istio-api/kinds.ts";

const SEED = Number(process.env.MODEL_SEED ?? Date.now() % 1_000_000);

test.each(Object.keys(KINDS) as Kind[])(
  `whichever field of %s changes, by whichever way, in whichever object, clients hold what is new (MODEL_SEED=${SEED})`,
  async (kind) => {
    const { changed } = await changeEveryField({ kind, seed: SEED, isDeep: true });
    expect(changed.length).toBeGreaterThan(0);
  },
);
