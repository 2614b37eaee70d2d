import { expect, test } from "vitest";
import { createAgentPages, EDGES_PATH, SAMPLE_PATH } from "./agent-pages.ts";

const LIMITS = { timeoutMs: 1000, maxBytes: 1024 };

test("who shows edges alone asks Envoy for its statistics and for nothing else", async () => {
  let looked = 0;
  const asked: string[] = [];
  const pages = createAgentPages({
    version: "1",
    reasons: async () => {
      looked += 1;
      return ["envoy: it is starting"];
    },
    notes: () => [],
    envoy: () => ({
      phase: "running",
      pid: 1,
      exits: [],
      ask: async (_, path) => ({ status: 404, body: path }),
      poll: async (path) => {
        asked.push(path);
        return { status: 200, body: '{"stats":[]}' };
      },
    }),
    certificates: async () => [],
    certificateProblem: async () => undefined,
    streams: () => [],
    names: () => undefined,
  });
  const sampleOf = async (path: string) => JSON.parse((await pages.get(path, LIMITS)).body);
  expect(await sampleOf(EDGES_PATH)).toMatchObject({ agent: { reasons: [] }, stats: { stats: [] } });
  expect([looked, asked.length]).toEqual([0, 1]);
  expect(await sampleOf(SAMPLE_PATH)).toMatchObject({ agent: { reasons: ["envoy: it is starting"] } });
  expect([looked, asked.length]).toEqual([1, 2]);
});
