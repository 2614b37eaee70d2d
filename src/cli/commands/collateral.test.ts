import { expect, test } from "vitest";
import { parse } from "yaml";
import { manPage, markdownPage, yamlPage } from "../framework/collateral-formats.ts";
import { htmlFragment } from "../framework/collateral-html.ts";
import type { CommandEntry } from "../framework/command.ts";
import { collectCommandDocs } from "../framework/command-docs.ts";

const COMMANDS: readonly CommandEntry[] = [
  {
    name: "walk",
    short: "Walks -- fast",
    load: async () => ({
      name: "walk",
      use: "walk <where>",
      short: "Walks -- fast",
      long: ".start of a line\nsecond: line",
      example: "  pilot-agent walk <home>",
      flags: [{ name: "pace", short: "p", type: "int", default: 3, usage: 'steps & "jumps"' }],
      run: async () => 0,
    }),
  },
  { name: "secret", short: "hidden", hidden: true, load: () => Promise.reject(new Error("never loaded")) },
];
const docs = await collectCommandDocs(COMMANDS);
const walk = docs[1] ?? expect.fail("no document for walk");

test("the root and each visible command have a document, hidden ones none", () => {
  expect(docs.map((doc) => doc.path)).toEqual(["pilot-agent", "pilot-agent walk"]);
  expect(walk.usage).toBe("pilot-agent walk <where> [flags]");
  expect(walk.related).toEqual([{ path: "pilot-agent", short: "Istio Pilot agent." }]);
});

test("Markdown has usage, example, own and inherited options and links", () => {
  const page = markdownPage(walk);
  expect(page).toContain("## pilot-agent walk\n\nWalks -- fast\n");
  expect(page).toContain("```\npilot-agent walk <where> [flags]\n```");
  expect(page).toContain("-p, --pace int");
  expect(page.indexOf("### Options\n")).toBeLessThan(page.indexOf("### Options inherited from parent commands"));
  expect(page).toContain("[pilot-agent](pilot-agent.md)");
});

test("YAML parses back to the declaration", () => {
  const page = parse(yamlPage(walk)) as Record<string, unknown>;
  expect(page).toMatchObject({ name: "pilot-agent walk", description: ".start of a line\nsecond: line" });
  expect(page.options).toContainEqual({ name: "pace", shorthand: "p", default_value: "3", usage: 'steps & "jumps"' });
});

test("a manual page never starts a text line with a request, and hyphens are hyphens", () => {
  const page = manPage(walk);
  expect(page).toContain("\\&.start of a line");
  expect(page).toContain("\\fB\\-p, \\-\\-pace\\fP");
});

test("HTML escapes what it is given and counts its entries", () => {
  const page = htmlFragment(
    docs,
    [{ name: "A_B", type: "bool", defaultText: "true", effect: "x < y" }],
    [{ name: "m_total", type: "counter", help: "a & b" }],
  );
  expect(page).toMatch(/^---\ntitle: pilot-agent\n.*\ngenerator: pkg-collateral-docs\nnumber_of_entries: 4\n---\n/);
  expect(page).toContain("walk &lt;where&gt;");
  expect(page).toContain("x &lt; y");
  expect(page).toContain("<td><code>m_total</code></td>");
  expect(page).not.toMatch(/<where>|<home>/);
});
