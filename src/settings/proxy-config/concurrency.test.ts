import { expect, test } from "vitest";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { generationRules } from "../generations.ts";
import { effectiveConcurrency } from "./concurrency.ts";

const detected = (limit: number) => `info cpu limit detected as ${limit}, setting concurrency`;
const legacy = (flag: number) => `warn legacy --concurrency=${flag} flag detected; prefer to use ProxyConfig`;
const unlimited = (cpus: number, limit: number) =>
  `warn concurrency is set to 0, which will use a thread per CPU on the host. However, CPU limit is set lower. This is not recommended and may lead to performance issues. CPU count: ${cpus}, CPU Limit: ${limit}.`;

test.each([
  { generation: "master", configured: undefined, flag: 0, cpuLimit: 0, gives: undefined, lines: [] },
  { generation: "master", configured: undefined, flag: 0, cpuLimit: 2, gives: 2, lines: [detected(2)] },
  { generation: "master", configured: undefined, flag: 0, cpuLimit: -2, gives: -2, lines: [detected(-2)] },
  { generation: "master", configured: 0, flag: 0, cpuLimit: 2, gives: 0, lines: [unlimited(8, 2)] },
  { generation: "master", configured: 0, flag: 0, cpuLimit: 8, gives: 0, lines: [] },
  { generation: "master", configured: 0, flag: 0, cpuLimit: 0, gives: 0, lines: [] },
  { generation: "master", configured: 5, flag: 0, cpuLimit: 2, gives: 5, lines: [] },
  { generation: "master", configured: 5, flag: 3, cpuLimit: 2, gives: 3, lines: [legacy(3)] },
  { generation: "master", configured: undefined, flag: 3, cpuLimit: 2, gives: 3, lines: [detected(2), legacy(3)] },
  { generation: "master", configured: undefined, flag: -1, cpuLimit: 0, gives: -1, lines: [legacy(-1)] },
  { generation: "1.20", configured: 0, flag: 0, cpuLimit: 2, gives: 0, lines: [] },
  { generation: "1.7", configured: 5, flag: 0, cpuLimit: 2, gives: 0, lines: [] },
  { generation: "1.7", configured: 5, flag: 2, cpuLimit: 0, gives: 2, lines: [] },
] as const)(
  "$generation: configured $configured, flag $flag, limit $cpuLimit -> $gives",
  ({ generation, gives, lines, ...sources }) => {
    const log = recordLog();
    expect(effectiveConcurrency({ ...sources, hostCpus: 8 }, generationRules(generation), log)).toBe(gives);
    expect(log.printed).toEqual(lines);
  },
);
