import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createFileRegistry, fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decodeMessage, encodeMessage, type MessageName } from "./index.ts";

const project = resolve(import.meta.dirname, "../../..");
const golden = resolve(project, "../shared/conformance/discovery");

/** File names and the type of what they hold. */
const FILES: Readonly<Record<string, MessageName>> = {
  "clusters.json": "envoy.config.cluster.v3.Cluster",
  "endpoints.json": "envoy.config.endpoint.v3.ClusterLoadAssignment",
  "listeners.json": "envoy.config.listener.v3.Listener",
  "routes.json": "envoy.config.route.v3.RouteConfiguration",
};

describe("generated files", () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "gen-"));
    execFileSync(process.execPath, [join(project, "scripts/generate-envoy-api.mjs"), "--out", join(directory, "gen")]);
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
