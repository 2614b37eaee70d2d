import { expect, test } from "vitest";
import { NO_NAMES } from "../../test/support/capture/owner-names.ts";
import { silentLogger } from "../base/logger.ts";
import { applyNftables } from "./apply-nftables.ts";
import type { ApplyOptions } from "./apply-options.ts";
import { DEFAULT_OPTIONS, DEFAULT_SETTINGS } from "./core/settings.ts";
import type { ProgramResult } from "./run-program.ts";

const OK: ProgramResult = { code: 0, stdout: "", stderr: "" };
const VERSION = { "--version": { ...OK, stdout: "nftables v1.0.6 (Lester Gooch #5)\n" } };

/** An nft that answers from a table; keeps the transactions it was given. */
function nft(answers: Readonly<Record<string, ProgramResult>>) {
  const transactions: string[] = [];
  const options: ApplyOptions = {
    settings: { ...DEFAULT_SETTINGS, nativeNftables: true },
    options: DEFAULT_OPTIONS,
    names: NO_NAMES,
    log: silentLogger,
    context: {
      procNet: "/nowhere",
      lockFile: undefined,
      run: async ({ program, args, input = "" }) => {
        if (program !== "nft") return { code: undefined, stdout: "", stderr: "", missing: true };
        const call = args.join(" ");
        if (call === "-f -") transactions.push(input);
        return answers[call] ?? OK;
      },
      [Symbol.asyncDispose]: async () => undefined,
    },
    hasNative: async () => false,
  };
  return { options, transactions };
}

const chain = (name: string) => ({ chain: { family: "inet", table: "t", name } });

test("one transaction is all that is run, and undo removes the tables", async () => {
  const { options, transactions } = nft(VERSION);
  const outcome = await applyNftables(options);
  expect(outcome.changed).toBe(true);
  expect(transactions[0]).toMatch(/^add table inet istio-proxy-nat\nflush table inet istio-proxy-nat\nadd chain /);
  await outcome.undo();
  expect(transactions[1]).toContain("delete table inet istio-proxy-nat\n");
});

test("tables and chains of an earlier configuration go in the same transaction", async () => {
  const listing = { ...OK, stdout: JSON.stringify({ nftables: [chain("output"), chain("istio-output-dns")] }) };
  const { options, transactions } = nft({
    ...VERSION,
    "list tables inet": {
      ...OK,
      stdout: "table inet istio-proxy-nat\ntable inet istio-proxy-mangle\ntable inet other\n",
    },
    "-j list table inet istio-proxy-nat": listing,
    "list table inet istio-proxy-nat": { ...OK, stdout: "table inet istio-proxy-nat { }\n" },
  });
  const outcome = await applyNftables(options);
  expect(transactions[0]).toMatch(
    /^add table inet istio-proxy-mangle\ndelete table inet istio-proxy-mangle\nadd table inet istio-proxy-nat\n/,
  );
  expect(transactions[0]).toMatch(/\ndelete chain inet istio-proxy-nat istio-output-dns\n$/);
  expect(transactions[0]).not.toContain("other");
  await outcome.undo();
  expect(transactions[1]).toContain("table inet istio-proxy-nat { }");
});

test.each([
  {
    answers: { "--version": { code: undefined, stdout: "", stderr: "", failure: "not found" } },
    says: "the nft binary is missing in the sidecar container image: not found",
  },
  {
    answers: { "--version": { ...OK, stdout: "nftables v1.0.0 (x)" } },
    says: "nft version must be v1.0.1 or later (got nftables v1.0.0 (x))",
  },
  { answers: { "--version": { ...OK, stdout: "nftables v0.9.8 (x)" } }, says: "must be v1.0.1 or later" },
  {
    answers: {
      ...VERSION,
      "list tables inet": { ...OK, code: 1, stderr: "Operation not permitted (you must be root)" },
    },
    says: "you must be root",
  },
  {
    answers: { ...VERSION, "-f -": { ...OK, code: 1, stderr: "Error: Could not process rule\nadd rule\n^^^" } },
    says: "nftables run failed: Error: Could not process rule",
  },
])("refused: $says", async ({ answers, says }) => {
  await expect(applyNftables(nft(answers).options)).rejects.toThrow(says);
});

test.each(["nftables v1.0.1 (x)", "nftables v1.1.0 (x)", "nftables v2.0 (x)"])("%s is new enough", async (stdout) => {
  await expect(applyNftables(nft({ "--version": { ...OK, stdout } }).options)).resolves.toMatchObject({
    changed: true,
  });
});
