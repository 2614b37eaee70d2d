import { afterAll, beforeAll, beforeEach } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { has, needs, type Requirement } from "./needs.ts";

/**
 * What all tests of a file share: started before the first one where the machine has everything for it, and closed after the last, also
 * when the start went wrong half way. `settle` may use what is started already.
 */
export function sharedPlace<Place>(
  requirements: readonly Requirement[],
  start: (opened: CloseStack) => Promise<Place>,
  settle?: (place: Place) => Promise<void>,
  limitMs = 120_000,
): () => Place {
  const opened = new CloseStack();
  let place: { readonly value: Place } | undefined;
  beforeEach(needs(...requirements));
  beforeAll(async () => {
    if (!requirements.every(has)) return;
    place = { value: await start(opened) };
    await settle?.(place.value);
  }, limitMs);
  afterAll(() => opened.close());
  return () => {
    if (place === undefined) throw new Error("what the tests share did not start");
    return place.value;
  };
}
