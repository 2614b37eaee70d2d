import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createFileRegistry, fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { arbitraryMessage } from "../../test/support/protobuf/arbitrary-message.ts";
import { decodeMessage as decodeTable } from "./binary/decode-message.ts";
import { encodeMessage as encodeTable } from "./binary/encode-message.ts";
import { decodeMessage, encodeMessage, type MessageName } from "./envoy/index.ts";
import { TABLES as MESH_CONFIG } from "./gen/tables/mesh-config.ts";
import { TABLES as PROXY_CONFIG } from "./gen/tables/proxy-config.ts";
import { TABLES as RULES } from "./gen/tables/rules.ts";
import { STRICT_JSON } from "./json/plain-dialects.ts";
import { readMessage } from "./json/read-message.ts";
import { withoutZeros } from "./json/zero-values.ts";
import { MessageTables } from "./message-tables.ts";

const project = resolve(import.meta.dirname, "../..");
const golden = resolve(project, "../shared/conformance/discovery");

/** File names and the type of what they hold. */
const FILES: Readonly<Record<string, MessageName>> = {
  "clusters.json": "envoy.config.cluster.v3.Cluster",
  "endpoints.json": "envoy.config.endpoint.v3.ClusterLoadAssignment",
  "listeners.json": "envoy.config.listener.v3.Listener",
  "routes.json": "envoy.config.route.v3.RouteConfiguration",
};

const MODULES: Readonly<Record<string, { family: string; messages?: readonly string[] }>> = JSON.parse(
  readFileSync(join(project, "proto/api.json"), "utf8"),
);
const ISTIO_ROOTS = Object.values(MODULES).flatMap(({ family, messages = [] }) => (family === "istio" ? messages : []));

describe("generated files", () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "gen-"));
    execFileSync(process.execPath, [join(project, "scripts/generate-protobuf.mjs"), "--out", join(directory, "gen")]);
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test("are what the script makes of the .proto files", () => {
    expect(filesOf(join(directory, "gen"))).toEqual(filesOf(join(project, "src/protobuf/gen")));
  });

  test("encode resources as a general protobuf runtime does", (context) => {
    const cases = readCases();
    if (cases.length === 0) context.skip(`no golden resources at ${golden}`);
    const registry = createFileRegistry(
      fromBinary(FileDescriptorSetSchema, readFileSync(join(directory, "gen.binpb"))),
    );
    let compared = 0;
    for (const { path, name, resource } of cases) {
      const schema = registry.getMessage(name);
      if (schema === undefined) throw new Error(`no descriptor of ${name}`);
      let theirs: Buffer;
      try {
        theirs = Buffer.from(toBinary(schema, fromJson(schema, resource, { registry })));
      } catch {
        continue; // the resource uses a member that is newer than the .proto files
      }
      const ours = encodeMessage(name, resource as never);
      expect(toJson(schema, fromBinary(schema, ours), { registry }), path).toEqual(resource);
      expect(decodeMessage(name, theirs), path).toEqual(resource);
      compared += 1;
    }
    expect(compared).toBeGreaterThan(cases.length * 0.9);
  });

  test.each(ISTIO_ROOTS)("%s is read and encoded as a general protobuf runtime does", (name) => {
    const registry = createFileRegistry(
      fromBinary(FileDescriptorSetSchema, readFileSync(join(directory, "gen.binpb"))),
    );
    const schema = registry.getMessage(name);
    if (schema === undefined) throw new Error(`no descriptor of ${name}`);
    const table = new MessageTables(PROXY_CONFIG, MESH_CONFIG, RULES).message(name);
    fc.assert(
      fc.property(arbitraryMessage(table), (document) => {
        const theirs = fromJson(schema, document as JsonValue);
        const { value, problems } = readMessage(table, document, STRICT_JSON);
        expect(problems).toEqual([]);
        expect(toJson(schema, fromBinary(schema, encodeTable(table, value)))).toEqual(toJson(schema, theirs));
        expect(withoutZeros(table, value)).toEqual(toJson(schema, theirs));
        expect(decodeTable(table, Buffer.from(toBinary(schema, theirs)))).toEqual(toJson(schema, theirs));
      }),
    );
  });
});

function filesOf(root: string): Record<string, string> {
  const names = readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(root, name), "utf8")]));
}

function readCases(): { path: string; name: MessageName; resource: JsonValue }[] {
  let folders: string[];
  try {
    folders = readdirSync(golden);
  } catch {
    return [];
  }
  return folders.flatMap((folder) =>
    Object.entries(FILES).flatMap(([file, name]) => {
      const path = join(golden, folder, file);
      let resources: JsonValue;
      try {
        resources = JSON.parse(readFileSync(path, "utf8"));
      } catch {
        return [];
      }
      return (resources as JsonValue[]).map((resource, index) => ({
        path: `${folder}/${file}[${index}]`,
        name,
        resource: withoutType(resource),
      }));
    }),
  );
}

function withoutType(resource: JsonValue): JsonValue {
  const { "@type": _type, ...rest } = resource as Record<string, JsonValue>;
  return rest;
}
