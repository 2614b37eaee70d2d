import { expect, test } from "vitest";
import { serverIdentity } from "./server-identity.ts";

test.each([
  {
    name: "istiod.istio-system.svc",
    identity: { host: "istiod.istio-system.svc", servername: "istiod.istio-system.svc" },
  },
  { name: "istiod.example.", identity: { host: "istiod.example.", servername: "istiod.example" } },
  { name: "10.0.0.1", identity: { host: "10.0.0.1" } },
  { name: "2001:db8::1", identity: { host: "2001:db8::1" } },
])("$name: a name is sent without a trailing dot, an address is not", ({ name, identity }) => {
  expect(serverIdentity(name)).toEqual(identity);
});
