import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sidecarInputs } from "../../test/support/bootstrap/bootstrap-inputs.ts";
import type { Logger } from "../base/logger.ts";
import { silentLogger } from "../base/logger.ts";
import { BOOTSTRAP_TYPE } from "../xds/type-urls.ts";
import { buildNodeDescriptor } from "./core/node-descriptor.ts";
import type { BootstrapDiscovery, BootstrapResource } from "./dynamic-bootstrap.ts";
import { bootstrapBytes, updateDynamicBootstrap } from "./dynamic-bootstrap.ts";

let dir: string;
let lines: string[];
let log: Logger;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "dynamic-"));
  lines = [];
  const add = (message: string) => void lines.push(message);
  log = { ...silentLogger, info: add, warn: add };
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** Field 1 of the message is the node; "0a00" is an empty one. */
const resource = (hex: string, typeUrl = BOOTSTRAP_TYPE): BootstrapResource => ({
  typeUrl,
  value: Buffer.from(hex, "hex"),
});
const node = buildNodeDescriptor(sidecarInputs());

/** Answers in turn; a string is a stream failure. */
function scripted(
  ...answers: readonly (readonly BootstrapResource[] | string)[]
): BootstrapDiscovery & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    request: async (typeUrl) => {
      asked.push(typeUrl);
      const answer = answers[asked.length - 1] ?? [];
      if (typeof answer === "string") throw new Error(answer);
      return answer;
    },
  };
}

const update = (discovery: BootstrapDiscovery, signal = new AbortController().signal) =>
  updateDynamicBootstrap({
    discovery,
    node,
    path: join(dir, "envoy-rev.pb"),
    log,
    signal,
    random: () => 0.5,
    initialBackoffMs: 1,
  });

test("the control plane's message is written as it came, private", async () => {
  const discovery = scripted([resource("0a030a0178ba3e03010203")]);
  expect(await update(discovery)).toBe(true);
  expect(discovery.asked).toEqual([BOOTSTRAP_TYPE]);
  expect((await readFile(join(dir, "envoy-rev.pb"))).toString("hex")).toBe("0a030a0178ba3e03010203");
  expect((await stat(join(dir, "envoy-rev.pb"))).mode & 0o777).toBe(0o600);
  expect(lines).toEqual(["successfully updated bootstrap config"]);
});

test("a failing stream is tried again with growing delays", async () => {
  expect(await update(scripted("reset", "reset", [resource("0a00")]))).toBe(true);
  expect(lines).toEqual([
    "retrying bootstrap discovery request with backoff: 1ms",
    "retrying bootstrap discovery request with backoff: 1.5ms",
    "successfully updated bootstrap config",
  ]);
});

test("stopping ends the attempts without an error", async () => {
  const stopping = new AbortController();
  const discovery: BootstrapDiscovery = {
    request: () => {
      stopping.abort();
      return Promise.reject(new Error("cancelled"));
    },
  };
  expect(await update(discovery, stopping.signal)).toBe(false);
  expect(await update(scripted([resource("0a00")]), AbortSignal.abort())).toBe(false);
});

describe("answers that cannot be used fail the start", () => {
  test.each([
    { what: "no resource", resources: [], message: "unexpected number of bootstraps: 0" },
    {
      what: "two resources",
      resources: [resource("0a00"), resource("0a00")],
      message: "unexpected number of bootstraps: 2",
    },
    {
      what: "another type",
      resources: [resource("0a00", "type.googleapis.com/x")],
      message: "bootstrap discovery returned a type.googleapis.com/x",
    },
    {
      what: "bytes that do not decode",
      resources: [resource("0aff")],
      message: "failed to unmarshal bootstrap from discovery: ",
    },
  ])("$what", async ({ resources, message }) => {
    expect(() => bootstrapBytes(resources)).toThrow(message);
    await expect(update(scripted(resources))).rejects.toMatchObject({ code: "unexpected-resources" });
  });
});
