import { expect, test } from "vitest";
import { versionText } from "./version.ts";

const stamp = { version: "1.2.3", revision: "abc", status: "Clean", tag: "t1" };

test.each([
  {
    output: "",
    short: false,
    text: 'client version: version.BuildInfo{Version:"1.2.3", GitRevision:"abc", GolangVersion:"node20.0.0", BuildStatus:"Clean", GitTag:"t1"}\n',
  },
  { output: "", short: true, text: "client version: 1.2.3\n" },
  {
    output: "json",
    short: true,
    text: '{\n  "clientVersion": {\n    "version": "1.2.3",\n    "revision": "abc",\n    "golang_version": "node20.0.0",\n    "status": "Clean",\n    "tag": "t1"\n  }\n}\n',
  },
  {
    output: "yaml",
    short: true,
    text: "clientVersion:\n  golang_version: node20.0.0\n  revision: abc\n  status: Clean\n  tag: t1\n  version: 1.2.3\n\n",
  },
])("output '$output', short $short", ({ output, short, text }) => {
  expect(versionText(stamp, "20.0.0", output, short)).toBe(text);
});

test("a revision that looks like a number is quoted in YAML", () => {
  expect(versionText({ ...stamp, revision: "1234567" }, "20", "yaml", false)).toContain('revision: "1234567"');
});

test("another output form is refused", () => {
  expect(() => versionText(stamp, "20", "xml", false)).toThrow("--output must be 'yaml' or 'json'");
});
