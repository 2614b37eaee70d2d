import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { grpcBootstrapCheck } from "./grpc-bootstrap-check.ts";

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

test("providers of other kinds are no business of this check", async () => {
  const provider = { plugin_name: "other", config: { certificate_file: "/nowhere" } };
  expect(await grpcBootstrapCheck(write("o.json", { certificate_providers: { a: provider } }))()).toBeUndefined();
});
