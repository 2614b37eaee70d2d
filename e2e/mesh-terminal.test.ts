import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "../test/support/files/temporary-folder.ts";
import { needs } from "../test/support/needs.ts";
import { PROGRAM } from "../test/support/process/program.ts";
import { openTerminal } from "../test/support/process/terminal.ts";

beforeEach(needs("envoy"));

const FILE = "services: {late: {port: 8081, calls: [], command: exec sleep 100000}}\n";
const CTRL_C = "\u0003";

test.each([{ words: [] }, { words: ["-d"] }])(
  "Ctrl-C during the start of mesh up $words ends quietly, with nothing left",
  async ({ words }) => {
    using folder = temporaryFolder({ files: { "mesh.yaml": FILE } });
    const up = [
      PROGRAM,
      "mesh",
      "up",
      "--isolation",
      "none",
      "--console=off",
      "--state-dir",
      folder.file("state"),
      ...words,
    ];
    await using terminal = openTerminal(up, { cwd: folder.path });
    await terminal.shows(/0 of 1 workload is ready/);
    terminal.type(CTRL_C);
    expect(await terminal.exited).toBe(0);
    const said = terminal.output().slice(terminal.output().lastIndexOf("^C"));
    expect(said).not.toMatch(/error|warn|at .*\.js:/i);
    await using ls = openTerminal([PROGRAM, "mesh", "ls", "--state-dir", folder.file("state")]);
    await ls.exited;
    expect(ls.output()).toMatch(/^mesh +stopped/m);
  },
);

test("Ctrl-C during the start of proxy ends it with code 0 and no error", async () => {
  using folder = temporaryFolder();
  // With roots that are there: without them the start would fail by itself, sooner or later than the signal comes.
  const roots = { XDS_ROOT_CA: "SYSTEM", CA_ROOT_CA: "SYSTEM" };
  const env = { ...roots, DISABLE_ENVOY: "true", CLOUD_PLATFORM: "none", POD_NAME: "a", POD_NAMESPACE: "b" };
  await using terminal = openTerminal([PROGRAM, "proxy", "sidecar"], { cwd: folder.path, env });
  await terminal.shows("Version ");
  terminal.type(CTRL_C);
  expect(await terminal.exited).toBe(0);
  expect(terminal.output()).not.toMatch(/\terror\t|at .*\.js:/);
});

test("names before log lines are coloured on a terminal, unless NO_COLOR is set", async () => {
  using folder = temporaryFolder({ files: { "state/shop/logs/web.app.log": "hello\n" } });
  const shown = async (env: Readonly<Record<string, string>>) => {
    const words = [PROGRAM, "mesh", "logs", "--name", "shop", "--state-dir", folder.file("state")];
    await using terminal = openTerminal(words, { env });
    expect(await terminal.exited).toBe(0);
    return terminal.output().trim();
  };
  expect(await shown({ NO_COLOR: "" })).toMatch(/^\u001b\[\d+mweb\/app \|\u001b\[0m hello$/);
  expect(await shown({ NO_COLOR: "1" })).toBe("web/app | hello");
});
