import { expect, test } from "vitest";
import { silentLogger } from "../base/logger.ts";
import { createLateBundle } from "./connect-identity.ts";

function owner() {
  const bundles: (readonly string[])[] = [];
  const setConfigTrustBundle = (anchors: readonly string[]) => {
    if (anchors.includes("bad")) throw new Error("no certificate");
    bundles.push(anchors);
  };
  return { bundles, setConfigTrustBundle };
}

test("anchors that come early wait for their owner, the newest counts", () => {
  const bundle = createLateBundle(silentLogger);
  bundle.set(["old"]);
  bundle.set(["new"]);
  const secrets = owner();
  bundle.attach(secrets);
  expect(secrets.bundles).toEqual([["new"]]);
  bundle.set(["later"]);
  expect(secrets.bundles).toEqual([["new"], ["later"]]);
});

test("wrong anchors are the sender's failure, or an error in the log when the sender has gone on", () => {
  const errors: string[] = [];
  const bundle = createLateBundle({ ...silentLogger, error: (text) => void errors.push(text) });
  bundle.set(["bad"]);
  bundle.attach(owner());
  expect(errors).toEqual(["trust anchors of the control plane are not used: no certificate"]);
  expect(() => bundle.set(["bad"])).toThrow("no certificate");
});
