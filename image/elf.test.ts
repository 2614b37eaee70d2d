import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readElfMachine, readElfNeeds } from "./elf.ts";

test("a program names its loader and its libraries", () => {
  const needs = readElfNeeds(readFileSync(process.execPath));
  expect(needs?.interpreter).toMatch(/ld-/);
  expect(needs?.libraries.some((name) => name.startsWith("libc."))).toBe(true);
});

test("a script needs nothing", () => {
  expect(readElfNeeds(Buffer.from("#!/bin/sh\n"))).toBeUndefined();
});

test("a program names the processor it is for, a script none", () => {
  expect(readElfMachine(readFileSync(process.execPath))).toBe(process.arch === "arm64" ? 183 : 62);
  expect(readElfMachine(Buffer.from("#!/bin/sh\n"))).toBeUndefined();
});
