import { expect, test } from "vitest";
import { configProblem, serverProblem } from "./readiness.ts";

const CDS = "cluster_manager.cds.update_success: 1\n";
const LDS = "listener_manager.lds.update_success: 1\n";
const CDS_REJECTED = "cluster_manager.cds.update_rejected: 1\n";

test.each([
  { stats: CDS + LDS, problem: undefined },
  { stats: CDS + LDS + CDS_REJECTED, problem: undefined },
  {
    stats: "",
    problem:
      "config not received from XDS server (is Istiod running?): cds updates: 0 successful, 0 rejected; lds updates: 0 successful, 0 rejected",
  },
  {
    stats: CDS_REJECTED,
    problem:
      "config not received from XDS server (is Istiod running?): cds updates: 0 successful, 1 rejected; lds updates: 0 successful, 0 rejected",
  },
  {
    stats: LDS,
    problem:
      "config not fully received from XDS server: cds updates: 0 successful, 0 rejected; lds updates: 1 successful, 0 rejected",
  },
  {
    stats: CDS,
    problem:
      "config not fully received from XDS server: cds updates: 1 successful, 0 rejected; lds updates: 0 successful, 0 rejected",
  },
  {
    stats: CDS_REJECTED + LDS,
    problem:
      "config received from XDS server, but was rejected: cds updates: 0 successful, 1 rejected; lds updates: 1 successful, 0 rejected",
  },
  {
    stats: "cluster_manager.cds.update_success: x\n",
    problem:
      'failed parsing Envoy stat cluster_manager.cds.update_success (error: strconv.ParseUint: parsing "x": invalid syntax) line: cluster_manager.cds.update_success: x',
  },
  {
    stats: "listener_manager.lds.update_success 1\n",
    problem:
      "envoy stat listener_manager.lds.update_success missing separator. line:listener_manager.lds.update_success 1",
  },
])("configuration stats '$stats' mean: $problem", ({ stats, problem }) => {
  expect(configProblem(stats)).toBe(problem);
});

test.each([
  { stats: CDS + LDS, summary: undefined },
  { stats: "", summary: "cds updates: 0 successful, 0 rejected; lds updates: 0 successful, 0 rejected" },
  { stats: LDS, summary: "cds updates: 0 successful, 0 rejected; lds updates: 1 successful, 0 rejected" },
  { stats: CDS, summary: "cds updates: 1 successful, 0 rejected; lds updates: 0 successful, 0 rejected" },
  {
    stats: CDS_REJECTED + LDS,
    summary: "cds updates: 0 successful, 1 rejected; lds updates: 1 successful, 0 rejected",
  },
])("up to 1.9 every incomplete configuration has the same text: '$stats'", ({ stats, summary }) => {
  const reported = summary && `config not received from Pilot (is Pilot running?): ${summary}`;
  expect(configProblem(stats, false)).toBe(reported);
});

const WORKERS = "listener_manager.workers_started: 1\n";

test.each([
  { stats: `server.state: 0\n${WORKERS}`, problem: undefined },
  { stats: `server.state: 1\n${WORKERS}`, problem: "server is not live, current state is: DRAINING" },
  { stats: `server.state: 2\n${WORKERS}`, problem: "server is not live, current state is: PRE_INITIALIZING" },
  { stats: `server.state: 3\n${WORKERS}`, problem: "server is not live, current state is: INITIALIZING" },
  { stats: `server.state: 9\n${WORKERS}`, problem: "server is not live, current state is: UNKNOWN" },
  { stats: "server.state: 0\nlistener_manager.workers_started: 0\n", problem: "workers have not yet started" },
  {
    stats: "server.state: 0\n",
    problem: "failed to get readiness stats: listener_manager.workers_started is not yet updated: server.state: 0\n",
  },
  { stats: "", problem: "failed to get readiness stats: server.state is not yet updated: " },
])("server stats '$stats' mean: $problem", ({ stats, problem }) => {
  expect(serverProblem(stats)).toBe(problem);
});
