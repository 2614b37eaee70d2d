import { expect, test } from "vitest";
import { parseArchitectures } from "./architecture.ts";

test("architectures are taken in their order, each once", () => {
  expect(parseArchitectures("arm64,amd64,arm64")).toEqual(["arm64", "amd64"]);
});

test.each(["riscv64", "amd64,", "x64", "toString"])("%s is refused with what is allowed", (text) => {
  expect(() => parseArchitectures(text)).toThrow(/is not among amd64, arm64/);
});
