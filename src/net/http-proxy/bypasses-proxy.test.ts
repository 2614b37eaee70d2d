import { expect, test } from "vitest";
import { bypassesProxy } from "./bypasses-proxy.ts";

test.each([
  { target: "localhost:15012", noProxy: "", bypasses: true },
  { target: "127.8.9.1:15012", noProxy: "", bypasses: true },
  { target: "::1:15012", noProxy: "", bypasses: true },
  { target: "istiod.istio-system.svc:15012", noProxy: "", bypasses: false },
  { target: "istiod.istio-system.svc:15012", noProxy: "*", bypasses: true },
  { target: "istiod.istio-system.svc:15012", noProxy: "other, ISTIO-system.svc", bypasses: true },
  { target: "istiod.istio-system.svc:15012", noProxy: ".svc", bypasses: true },
  { target: "svc:15012", noProxy: ".svc", bypasses: false },
  { target: "svc:15012", noProxy: "*.svc", bypasses: false },
  { target: "a.svc:15012", noProxy: "*.svc", bypasses: true },
  { target: "asvc:15012", noProxy: "svc", bypasses: false },
  { target: "istiod.mesh.:15012", noProxy: "istiod.mesh", bypasses: true },
  { target: "istiod.mesh:15012", noProxy: "istiod.mesh:15012", bypasses: true },
  { target: "istiod.mesh:15012", noProxy: "istiod.mesh:443", bypasses: false },
  { target: "10.1.2.3:15012", noProxy: "10.0.0.0/8", bypasses: true },
  { target: "11.1.2.3:15012", noProxy: "10.0.0.0/8", bypasses: false },
  { target: "10.1.2.3:15012", noProxy: "10.1.2.3", bypasses: true },
  { target: "10.1.2.3:15012", noProxy: "2.3", bypasses: false },
  { target: "fd00::5:15012", noProxy: "fd00::/8", bypasses: true },
  { target: "fd00::5:15012", noProxy: "[fd00::5]:15012", bypasses: true },
  { target: "fd00::5:15012", noProxy: "FD00:0:0::5", bypasses: true },
  { target: "fd00::5:15012", noProxy: "fd00::6", bypasses: false },
  { target: "istiod.mesh:15012", noProxy: "10.1.2.3", bypasses: false },
  { target: "10.1.2.3:15012", noProxy: "10.0.0.0/99,fd00::/8,///,:", bypasses: false },
])("$target with NO_PROXY=$noProxy bypasses the proxy: $bypasses", ({ target, noProxy, bypasses }) => {
  const cut = target.lastIndexOf(":");
  expect(bypassesProxy({ host: target.slice(0, cut), port: Number(target.slice(cut + 1)) }, noProxy)).toBe(bypasses);
});
