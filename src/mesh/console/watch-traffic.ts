import { createSampler, type GraphSnapshot } from "../../console/index.ts";
import { createMeshSources, type MeshSourcesOptions } from "./mesh-sources.ts";

/** Figures of all edges for those who ask: the agents are asked only while somebody does. */
export interface TrafficWatch {
  /** Calls with every snapshot until the signal. */
  follow(onGraph: (graph: GraphSnapshot) => void, signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

const INTERVAL_MS = 2000;

/** From the same statistics as the console's graph, by the same code. */
export async function createTrafficWatch(options: MeshSourcesOptions): Promise<TrafficWatch> {
  const sources = createMeshSources(options);
  const readers = new Set<(graph: GraphSnapshot) => void>();
  const sampler = await createSampler({
    sources,
    intervalMs: INTERVAL_MS,
    edgesOnly: true,
    now: Date.now,
    onGraph: (graph) => {
      for (const reader of readers) reader(graph);
    },
    onState: () => undefined,
  });
  return {
    follow: (onGraph, signal) =>
      new Promise((done) => {
        const end = () => {
          readers.delete(onGraph);
          if (readers.size === 0) sampler.pause();
          done();
        };
        if (signal.aborted) return done();
        signal.addEventListener("abort", end, { once: true });
        readers.add(onGraph);
        sampler.run();
      }),
    async stop() {
      await sampler.stop();
      sources.close();
    },
  };
}
