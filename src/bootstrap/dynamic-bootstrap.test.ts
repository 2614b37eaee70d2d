import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sidecarInputs } from "../../test/support/bootstrap-inputs.ts";
import type { Logger } from "../base/logger.ts";
import { silentLogger } from "../base/logger.ts";
import { buildNodeDescriptor } from "./core/node-descriptor.ts";
import type { BootstrapDiscovery, BootstrapResource } from "./dynamic-bootstrap.ts";
import { BOOTSTRAP_TYPE_URL, decodeBootstrap, updateDynamicBootstrap } from "./dynamic-bootstrap.ts";

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

const resource = (json: string, typeUrl = BOOTSTRAP_TYPE_URL): BootstrapResource => ({
  typeUrl,
  value: Buffer.from(json),
});
const decode = ({ value }: BootstrapResource) => JSON.parse(Buffer.from(value).toString()) as unknown;
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
    decode,
    node,
    path: join(dir, "envoy-rev.json"),
    log,
    signal,
    random: () => 0.5,
    initialBackoffMs: 1,
  });

test("the control plane's document replaces the file, indented and private", async () => {
  const discovery = scripted([resource('{"node":{"id":"x"}}')]);
  expect(await update(discovery)).toBe(true);
  expect(discovery.asked).toEqual([BOOTSTRAP_TYPE_URL]);
  expect(await readFile(join(dir, "envoy-rev.json"), "utf8")).toBe('{\n  "node": {\n    "id": "x"\n  }\n}');
  expect((await stat(join(dir, "envoy-rev.json"))).mode & 0o777).toBe(0o600);
  expect(lines).toEqual(["successfully updated bootstrap config"]);
});

test("a failing stream is tried again with growing delays", async () => {
  expect(await update(scripted("reset", "reset", [resource("{}")]))).toBe(true);
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
  expect(await update(scripted([resource("{}")]), AbortSignal.abort())).toBe(false);
});

describe("answers that cannot be used fail the start", () => {
  test.each([
    { what: "no resource", resources: [], message: "unexpected number of bootstraps: 0" },
    {
      what: "two resources",
      resources: [resource("{}"), resource("{}")],
      message: "unexpected number of bootstraps: 2",
    },
    {
      what: "another type",
      resources: [resource("{}", "type.googleapis.com/x")],
      message: "bootstrap discovery returned a type.googleapis.com/x",
    },
    {
      what: "bytes that do not decode",
      resources: [resource("{")],
      message: "failed to unmarshal bootstrap from discovery: ",
    },
    {
      what: "something that is no message",
      resources: [resource("[]")],
      message: "bootstrap from discovery is no message",
    },
  ])("$what", async ({ resources, message }) => {
    expect(() => decodeBootstrap(resources, decode)).toThrow(message);
    await expect(update(scripted(resources))).rejects.toMatchObject({ code: "unexpected-resources" });
  });
});
