import { expect, test } from "vitest";
import { printableUrl } from "./printable-url.ts";

test.each([
  { url: "https://x/m.wasm", shown: "https://x/m.wasm" },
  { url: "https://user:pass@x/m.wasm", shown: "https://x/m.wasm" },
  { url: "https://user:p@ss@x/m.wasm", shown: "https://x/m.wasm" },
  { url: "https://x/m.wasm?X-Signature=abc&b=1", shown: "https://x/m.wasm?[redacted]" },
  { url: "oci://ghcr.io/org/app:v1@sha256:abc", shown: "oci://ghcr.io/org/app:v1@sha256:abc" },
  { url: "https://user:pass@shared.example/m.wasm", shown: "https://shared.example/m.wasm" },
  { url: "https://user:pass@sha256.example:8443/m", shown: "https://sha256.example:8443/m" },
  { url: "oci://user:pass@sharing.example/app:v1", shown: "oci://sharing.example/app:v1" },
  { url: `oci://app@sha256:${"0a".repeat(32)}`, shown: `oci://app@sha256:${"0a".repeat(32)}` },
  { url: "https://user:pass@sha256:8443/m", shown: "https://sha256:8443/m" },
  { url: "no address", shown: "no address" },
])("$url is shown as $shown", ({ url, shown }) => {
  expect(printableUrl(url)).toBe(shown);
});
