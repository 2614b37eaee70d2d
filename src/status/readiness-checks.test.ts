import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { CodedError } from "../base/coded-error.ts";
import { envoyLivenessCheck, grpcBootstrapCheck } from "./readiness-checks.ts";

type Look = "LIVE" | "DRAINING" | "INITIALIZING" | "timeout" | "unreachable";

async function verdicts(looks: readonly Look[]): Promise<(string | undefined)[]> {
  const left = [...looks];
  const check = envoyLivenessCheck({
    ready: async () => {
      const look = left.shift() ?? "LIVE";
      if (look === "timeout" || look === "unreachable") throw new CodedError(look, look);
      return { isLive: look === "LIVE", state: look };
    },
  });
  const found: (string | undefined)[] = [];
  for (const _look of looks) found.push(await check());
  return found;
}

const hung = "Envoy does not answer on its admin port";
const drained = "server is not live, current state is: DRAINING";

test.each<{ looks: Look[]; want: (string | undefined)[] }>([
  { looks: ["LIVE", "LIVE"], want: [undefined, undefined] },
  { looks: ["timeout", "LIVE", "timeout"], want: [undefined, undefined, undefined] },
  { looks: ["timeout", "timeout", "timeout", "LIVE"], want: [undefined, hung, hung, undefined] },
  { looks: ["timeout", "unreachable", "timeout"], want: [undefined, undefined, undefined] },
  { looks: ["DRAINING", "LIVE"], want: [drained, undefined] },
  { looks: ["INITIALIZING"], want: [undefined] },
])("looks $looks", async ({ looks, want }) => {
  expect(await verdicts(looks)).toEqual(want);
});

const folder = mkdtempSync(join(tmpdir(), "grpc-check-"));
afterAll(() => rmSync(folder, { recursive: true }));
const write = (name: string, content: unknown) => {
  const path = join(folder, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
};

test("a file that is missing or does not parse is named, and looked at again", async () => {
  const path = join(folder, "late.json");
  const check = grpcBootstrapCheck(path);
  expect(await check()).toMatch(`failed loading ${path}: ENOENT`);
  write("late.json", "{");
  expect(await check()).toMatch(`failed loading ${path}: `);
  write("late.json", {});
  expect(await check()).toBeUndefined();
});

test("the certificate files of the watching provider have to exist, at every look", async () => {
  const files = ["cert.pem", "key.pem", "root.pem"].map((name) => join(folder, name));
  const config = { certificate_file: files[0], private_key_file: files[1], ca_certificate_file: files[2] };
  const check = grpcBootstrapCheck(
    write("b.json", { certificate_providers: { default: { plugin_name: "file_watcher", config } } }),
  );
  for (const [index, file] of files.entries()) {
    expect(await check()).toBe(`${file} does not exist`);
    write(["cert.pem", "key.pem", "root.pem"][index] ?? "", "x");
  }
  expect(await check()).toBeUndefined();
  rmSync(files[1] ?? "");
  expect(await check()).toBe(`${files[1]} does not exist`);
});

test("providers of other kinds are not checked", async () => {
  const provider = { plugin_name: "other", config: { certificate_file: "/nowhere" } };
  expect(await grpcBootstrapCheck(write("o.json", { certificate_providers: { a: provider } }))()).toBeUndefined();
});
