import { expect, test } from "vitest";
import { DNS_RULES } from "./generations.ts";

test("1.20 differs from today only in search expansion, server order and one error text", () => {
  const today = DNS_RULES.master;
  const changed = Object.entries(DNS_RULES["1.20"]).filter(
    ([rule, value]) => today[rule as keyof typeof today] !== value,
  );
  expect(changed).toEqual([
    ["expandsSearchedNames", true],
    ["shufflesServers", false],
    ["explainsBadAddress", false],
  ]);
});

test("1.8 knows neither wildcards nor authority, and the wrong family does not exist", () => {
  expect(DNS_RULES["1.8"]).toMatchObject({
    wildcards: false,
    altHosts: false,
    authoritative: false,
    missingFamily: "name-error",
    shufflesAnswers: false,
    reportsTable: false,
  });
});
