import { existsSync, readdirSync, readFileSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { isRecorded } from "../../src/agent/connect-xds.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { any } from "../../src/protobuf/wire/discovery.ts";
import { memberBytes, withMember } from "../../src/protobuf/wire/edit-members.ts";
import { encodeStruct } from "../../src/protobuf/wire/struct.ts";
import { startLastGood } from "../../src/xds-proxy/last-good/start-last-good.ts";
import { socketFolder } from "../support/files/socket-folder.ts";
import { startHttpServer } from "../support/net/http-server.ts";
import { startTestConverter } from "../support/oci/converter.ts";
import { until } from "../support/wait/until.ts";
import {
  EXTENSION_TYPE,
  extension,
  extensionResponse,
  HTTP_WASM,
  remoteExtension,
  remoteWasm,
  wasmModule,
} from "../support/wasm/resources.ts";
import { openRawAds } from "../support/xds/ads-client.ts";
import { startControlPlane } from "../support/xds/control-plane.ts";
import { ask, NODE_ID, startTestProxy } from "../support/xds/harness.ts";

const SECRET = JSON.stringify({ auths: { "registry.test": { auth: "dXNlcjpzZWNyZXQ=" } } });
const env = { ISTIO_META_WASM_IMAGE_PULL_SECRET: SECRET, OTHER: "stays" };

/** The same filter in the forms a control plane may send it in. */
const forms: Readonly<Record<string, (url: string) => Buffer>> = {
  remote: (url) => remoteExtension({ name: "plugin", url, env }),
  // Nothing to convert, so the agent lets it pass as it is.
  local: (url) => {
    const { type, value } = remoteWasm({ name: "plugin", url, env });
    const plugin = memberBytes(value, 1) ?? Buffer.alloc(0);
    const file = Buffer.from([0x0a, 4, 0x0a, 2, 0x2f, 0x6d]);
    const vm = withMember(memberBytes(plugin, 3) ?? Buffer.alloc(0), 3, file);
    return extension("plugin", { type, value: withMember(value, 1, withMember(plugin, 3, vm)) });
  },
  struct: (url) => {
    const code = { remote: { http_uri: { uri: url, timeout: "10s" } } };
    const vm_config = { code, environment_variables: { key_values: env } };
    const value = encodeStruct({ config: { name: "plugin", vm_config } });
    return extension("plugin", {
      type: "type.googleapis.com/udpa.type.v1.TypedStruct",
      value: any.encode({ typeUrl: HTTP_WASM, value }),
    });
  },
};

const cases = (["sotw", "delta"] as const).flatMap((kind) =>
  Object.keys(forms).flatMap((form) => [true, false].map((converts) => ({ kind, form, converts }))),
);

test.each(cases)(
  "a pull secret in a $form filter ($kind, conversion $converts) is not in the file of the last known good",
  async ({ kind, form, converts }) => {
    using socket = socketFolder();
    await using modules = await startHttpServer((_request, response) => void response.end(wasmModule("m")));
    await using wasm = await startTestConverter();
    await using server = await startControlPlane();
    const directory = join(dirname(dirname(socket.path)), "last-good");
    await using lastGood = await startLastGood({ directory, nodeId: NODE_ID, writeEveryMs: 1, log: silentLogger });
    await using _proxy = await startTestProxy(server.address, socket.path, {
      lastGood,
      converters: converts ? [wasm.converter] : [],
    });
    await using client = openRawAds(socket.path, kind);
    client.send(ask(kind, EXTENSION_TYPE, { agent: "envoy", names: ["plugin"] }));
    const stream = await server.stream(0);
    await stream.received(1);
    const filter = forms[form]?.(`http://127.0.0.1:${modules.port}/m.wasm`) ?? Buffer.alloc(0);
    const sent = extensionResponse(kind, [filter], "n1", "v1");
    stream.send(sent);
    await client.received(1);
    // Envoy itself gets what is not converted as it came.
    const isConverted = converts && form !== "local";
    expect(client.responses[0]?.equals(sent)).toBe(!isConverted);
    const names = kind === "sotw" ? ["plugin"] : [];
    client.send(ask(kind, EXTENSION_TYPE, { names, nonce: "n1", version: "v1" }));
    await until(async () => {
      const stored = lastGood.current()?.snapshot.get(EXTENSION_TYPE);
      return stored?.resources.size === 1 ? undefined : "nothing is recorded";
    });
    await lastGood.stop();
    const [file = ""] = readdirSync(directory);
    const written = readFileSync(join(directory, file));
    expect(written.includes("stays")).toBe(true);
    expect(written.includes("dXNlcjpzZWNyZXQ=")).toBe(false);
    expect(written.includes("auths")).toBe(false);
  },
);

test("after a restart without a control plane the modules of the last known good stay, other old ones go", async () => {
  using socket = socketFolder();
  await using modules = await startHttpServer((request, response) => void response.end(wasmModule(`${request.url}`)));
  const url = (path: string) => `http://127.0.0.1:${modules.port}${path}`;
  const directory = join(dirname(dirname(socket.path)), "last-good");
  const cache = join(dirname(dirname(socket.path)), "modules");
  const settings = { directory, nodeId: NODE_ID, writeEveryMs: 1, log: silentLogger };
  const files: string[] = [];
  {
    await using wasm = await startTestConverter({ directory: cache });
    await using server = await startControlPlane();
    await using lastGood = await startLastGood(settings);
    await using _proxy = await startTestProxy(server.address, socket.path, { lastGood, converters: [wasm.converter] });
    files.push(await wasm.load({ url: url("/kept") }), await wasm.load({ url: url("/old") }));
    await using client = openRawAds(socket.path, "delta");
    client.send(ask("delta", EXTENSION_TYPE, { agent: "envoy", names: ["plugin"] }));
    const stream = await server.stream(0);
    stream.send(extensionResponse("delta", [remoteExtension({ name: "plugin", url: url("/kept") })], "n1"));
    await client.received(1);
    client.send(ask("delta", EXTENSION_TYPE, { nonce: "n1" }));
    await until(async () => (lastGood.current() === undefined ? "nothing is recorded" : undefined));
  }
  const [kept = "", old = ""] = files;
  for (const path of files) utimesSync(path, 1, 1);
  await using lastGood = await startLastGood(settings);
  await using _wasm = await startTestConverter({
    directory: cache,
    moduleExpiryMs: 1000,
    purgeIntervalMs: 10,
    isReferenced: (path) => isRecorded(path, lastGood),
  });
  await until(async () => (existsSync(old) ? "the old one is there" : undefined));
  expect(existsSync(kept)).toBe(true);
});
