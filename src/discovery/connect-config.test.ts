import { expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { configDirectories } from "./connect-config.ts";

test.each<{ is: string; sources: unknown; given?: string; read: string[]; warns?: number }>([
  { is: "no source", sources: undefined, given: "rules", read: ["rules"] },
  { is: "no source and no directory", sources: [], read: [] },
  { is: "a directory", sources: [{ address: "fs:///etc/rules" }], read: ["/etc/rules"] },
  { is: "a directory with an escape", sources: [{ address: "fs:///etc/my%20rules" }], read: ["/etc/my rules"] },
  {
    is: "several, one of them twice",
    sources: [{ address: "fs:///a" }, { address: "fs:///b" }, { address: "fs://localhost/a" }],
    read: ["/a", "/b"],
  },
  { is: "a directory instead of the given one", sources: [{ address: "fs:///a" }], given: "b", read: ["/a"], warns: 1 },
  { is: "a cluster", sources: [{ address: "k8s://" }], given: "rules", read: ["rules"], warns: 1 },
  { is: "a server and no address", sources: [{ address: "xds://host:15010" }, {}], read: [], warns: 2 },
])("with $is as config sources $read are read", ({ sources, given, read, warns = 0 }) => {
  const log = recordLog();
  expect(configDirectories({ configSources: sources }, given, log)).toEqual(read);
  expect(log.lines).toHaveLength(warns);
});

test.each(["fs://", "fs://host"])("a config source %s says that it has no path", (address) => {
  expect(() => configDirectories({ configSources: [{ address }] }, undefined, recordLog())).toThrow(
    `mesh config: invalid fs config URL ${address}, contains no file path; expected fs:///DIR`,
  );
});
